import { createMailWorkflows } from '../../src/temporal/mail-workflows.ts';
import { createWorkflowInspector } from '../../src/temporal/pending-activities.ts';
import type { MailDeps } from '../../src/mail/public.ts';
import { mailWorkflowId } from '../../src/contracts/ids.ts';
import { payloadTexts } from '../../dev/orders/history.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

export const FROM = 'Merchant Payments <no-reply@payments.example>';

/** What the API and other features have to send mails with. */
export const mailDepsOf = ({ deps, temporal }: TestService): MailDeps => ({
  sql: deps.sql,
  mailBox: deps.mailBox,
  mails: createMailWorkflows(temporal.client),
});

export interface MailRow {
  sealed: Uint8Array | null;
  sentAt: Date | null;
  failedAt: Date | null;
  failure: string | null;
}

export async function rowOf({ sql }: TestService, mailId: string): Promise<MailRow | undefined> {
  const [row] = await sql<MailRow[]>`
    SELECT sealed, sent_at, failed_at, failure FROM mails WHERE mail_id = ${mailId}`;
  return row;
}

/** The row of a mail, once it is sent or has failed. */
export async function untilDone(service: TestService, mailId: string): Promise<MailRow> {
  await until(async () => (await rowOf(service, mailId))?.sealed === null);
  return (await rowOf(service, mailId))!;
}

/**
 * Waits until the workflow of a mail has ended, which is after its row says so. A worker that is
 * stopped before loses the workflow's last task, and the test server skips no time until that ends.
 */
export async function untilEnded({ temporal }: TestService, mailId: string): Promise<void> {
  const workflow = temporal.client.workflow.getHandle(mailWorkflowId(mailId));
  await until(async () => (await workflow.describe()).status.name !== 'RUNNING');
}

export const alertsOf = ({ sql }: TestService, kind: string) =>
  sql<{ subject: string; details: Record<string, unknown> }[]>`
    SELECT subject, details FROM alerts WHERE kind = ${kind} AND cleared_at IS NULL`;

/** Everything that Temporal stores of a mail, as text. */
export async function historyOf({ temporal }: TestService, mailId: string): Promise<string> {
  const handle = temporal.client.workflow.getHandle(mailWorkflowId(mailId));
  const [{ events }, { raw }] = await Promise.all([handle.fetchHistory(), handle.describe()]);
  return payloadTexts(events ?? []) + JSON.stringify(raw);
}

/** Waits until Temporal knows of so many failed attempts of a mail. */
export async function untilPostponed(
  { temporal }: TestService,
  mailId: string,
  attempts: number,
): Promise<void> {
  const inspector = createWorkflowInspector(temporal.client);
  await until(async () => {
    const [pending] = (await inspector.inspect(mailWorkflowId(mailId)))?.pending ?? [];
    return pending?.attempt === attempts + 1 && pending.lastError !== null;
  });
}
