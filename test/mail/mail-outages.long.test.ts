import { expect } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { SCHEDULE_IDS, SWEEP_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { attemptMail } from '../../src/mail/attempt.ts';
import { createMailer } from '../../src/mail/mailer.ts';
import { sendMail } from '../../src/mail/public.ts';
import { findUnstartedMails } from '../../src/mail/queries.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import { createMailWorkflows } from '../../src/temporal/mail-workflows.ts';
import { serviceTest } from '../support/service-test.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { alertsOf, FROM, mailDepsOf, untilDone, untilPostponed } from './mail-test.ts';

const HOUR_MS = 3_600_000;
/** A second longer than the wait after the first attempt. */
const FIRST_WAIT_MS = 16_000;
/** The attempts that one process makes at the same time. */
const MAX_UNDER_WAY = 40;
const ENDED_MAILS = 50_000;
const SUBJECT_AND_TEXT = {
  subject: 'Confirm',
  paragraphs: ['https://payments.example/confirm/abc'],
};

const smtp = await startSmtpReceiver();
const test = serviceTest({
  time: 'skipping',
  settings: { SMTP_URL: smtp.url, MAIL_FROM: FROM },
  worker: false,
});
test.afterAll(() => smtp.stop());

/** Runs the sweep as its Schedule does. */
const sweep = ({ temporal }: TestService) =>
  temporal.client.workflow.execute(SWEEP_WORKFLOW, {
    workflowId: SCHEDULE_IDS[SWEEP_WORKFLOW],
    taskQueue: TASK_QUEUE,
  });

test('a mail is written when Temporal is away, and the sweep sends it after 30 s', async ({
  service,
  worker,
}) => {
  const address = `127.0.0.1:${await freePort()}`;
  const away = connectTemporal({ address, namespace: 'default' });
  const mail = { mailId: 'swept', to: 'swept@example.com', ...SUBJECT_AND_TEXT };
  await worker.start();
  await sendMail({ ...mailDepsOf(service), mails: createMailWorkflows(away) }, mail);
  expect(await sweep(service)).toEqual({ woken: 0, mails: 0 });
  await service.skip(31_000);
  expect(await sweep(service)).toEqual({ woken: 0, mails: 1 });
  expect(await smtp.received(mail.to)).toHaveLength(1);
  await untilDone(service, 'swept');
  await service.skip(31_000);
  expect(await sweep(service)).toEqual({ woken: 0, mails: 0 });
  await away.connection.close();
});

test('a mail whose workflow was lost is sent by the sweep, and one whose workflow runs is left to it', async ({
  service,
  worker,
}) => {
  await worker.start();
  const to = 'lost@example.com';
  const acceptAgain = smtp.refuseAll({ responseCode: 451, message: 'Later' });
  await sendMail(mailDepsOf(service), { mailId: 'lost', to, ...SUBJECT_AND_TEXT });
  // An activity whose workflow is terminated while it is under way would stop the skipping of time.
  await untilPostponed(service, 'lost', 1);
  acceptAgain();
  await service.temporal.client.workflow.getHandle('mail-lost').terminate('lost by a restore');
  await service.skip(HOUR_MS);
  expect(await sweep(service)).toMatchObject({ mails: 0 });
  await service.skip(2 * HOUR_MS);
  expect(await sweep(service)).toMatchObject({ mails: 1 });
  expect(await smtp.received(to)).toHaveLength(1);
});

test('without an SMTP server an alert is raised, and the mail is sent once there is one', async ({
  service,
  worker,
}) => {
  await worker.stop();
  const to = 'waiting@example.com';
  const unconfigured = await service.startWorker(
    createActivities({ ...service.deps, mailer: undefined }),
  );
  await sendMail(mailDepsOf(service), { mailId: 'waiting', to, ...SUBJECT_AND_TEXT });
  const open = () => alertsOf(service, 'mail_not_configured');
  await until(async () => (await open()).length === 1);
  expect(JSON.stringify([await open(), service.logged])).not.toContain('@example.com');
  await untilPostponed(service, 'waiting', 1);
  await unconfigured.stop();
  await worker.start();
  await service.skip(FIRST_WAIT_MS);
  expect(await smtp.received(to)).toHaveLength(1);
  await until(async () => (await open()).length === 0);
});

test('the sweep reads only mails that wait, however many were sent', async ({ service }) => {
  const { sql } = service;
  await sql`
    INSERT INTO mails (mail_id, sent_at) SELECT 'sent_' || i, now()
    FROM generate_series(1, ${ENDED_MAILS}::integer) AS i`;
  await sql`ANALYZE mails`;
  const statements: string[] = [];
  const watched = new Proxy(service.sql, {
    apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
      statements.push(args[0].join('?'));
      return Reflect.apply(target, self, args) as unknown;
    },
  });
  expect(await findUnstartedMails(watched, 30_000, 500)).toEqual([]);
  const [statement = ''] = statements;
  const literal = ['30000', '500'].reduce((text, value) => text.replace('?', value), statement);
  const plan = await sql.unsafe(`EXPLAIN ${literal}`);
  expect(JSON.stringify(plan)).toContain('Index Scan using mails_waiting on mails');
});

test('a mail is not given up because its last attempt had to wait for those of other mails', async ({
  service,
  worker,
}) => {
  await worker.stop();
  const mailer = createMailer({ smtpUrl: smtp.url, mailFrom: FROM, requiresTls: false });
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const acceptAtOnce = smtp.holdEach(() => held);
  const other = {
    mailId: 'other',
    createdAt: new Date(),
    to: 'o@example.com',
    ...SUBJECT_AND_TEXT,
  };
  const others = Array.from({ length: MAX_UNDER_WAY }, () => mailer.send(other));
  const to = 'last@example.com';
  await sendMail(mailDepsOf(service), { mailId: 'last', to, ...SUBJECT_AND_TEXT });
  await service.sql`
    UPDATE mails SET created_at = created_at - interval '25 hours' WHERE mail_id = 'last'`;
  const deps = { ...service.deps, mailer };
  expect(await attemptMail(deps, 'last')).toMatchObject({ outcome: 'postponed' });
  release();
  acceptAtOnce();
  await Promise.all(others);
  expect(await attemptMail(deps, 'last')).toEqual({ outcome: 'done' });
  expect(await smtp.received(to)).toHaveLength(1);
});
