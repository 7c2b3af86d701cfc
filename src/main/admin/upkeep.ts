import { clearAlertById, listAlerts } from '../../alerts/alerts.ts';
import { TASK_QUEUES } from '../../contracts/ids.ts';
import { DomainError, ORDER_STATUSES } from '../../domain/index.ts';
import { pepperIdsOf } from '../../merchants/keys/credentials.ts';
import { sampleOrders } from '../../orders/wake/sample-orders.ts';
import type { KeyReport, KeyUsage } from '../../privacy/key-usage.ts';
import { reportKeys } from '../../privacy/key-usage.ts';
import { resealAll } from '../../privacy/reseal.ts';
import { SetupError } from '../../setup-error.ts';
import { wholeNumber } from '../process/command-line.ts';
import { COUNT, defineCommand, LIMIT, REASON } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, list, table } from './text.ts';

const MORE = 'There are more: narrow the search, or raise --limit.';

export const ALERT_COMMANDS = {
  'alert list': defineCommand({
    summary: 'List alerts, the latest first, each kind with its remedy',
    options: {
      kind: { value: 'NAME', help: 'Only of this kind, such as gateway_refused' },
      subject: { value: 'TEXT', help: 'Only of this order number, gateway payment id, …' },
      all: { flag: true, help: 'Include cleared alerts' },
      limit: LIMIT,
    },
    async run({ sql }, { kind, subject, all, limit }) {
      const data = await listAlerts(sql, { kind, subject, show: all ? 'all' : 'open' }, limit);
      const names = ['alertId', 'lastAt', 'count', 'kind', 'subject', 'message'] as const;
      const cleared = ['clearedAt', 'clearedBy', 'clearedReason'] as const;
      const alerts = list(data.alerts, all ? [...names, ...cleared] : names);
      const remedies = new Map(data.alerts.map(({ kind: of, remedy }) => [of, remedy]));
      const help = [...remedies].map(([of, remedy]) => `${of}: ${remedy}`).join('\n');
      return { data, text: blocks(alerts, help, data.hasMore && MORE) };
    },
  }),
  'alert clear': defineCommand({
    summary: 'Clear an alert whose cause is resolved',
    notes: 'It is raised again if its cause recurs.',
    options: {
      id: { value: 'ID', help: 'The id that alert list shows', as: wholeNumber(1), required: true },
      reason: { ...REASON, help: 'What was done, for the audit log' },
    },
    async run({ sql, actor }, { id: alertId, reason }) {
      if (!(await clearAlertById(sql, alertId, actor, reason))) {
        const message = `There is no alert ${alertId}, or it is cleared already`;
        throw new DomainError('NOT_FOUND', message);
      }
      return { data: { alertId }, text: `Alert ${alertId} is cleared.` };
    },
  }),
};

/** The report of all keys, and the boxes of the configured ones. */
async function keysOf({ sql, secretBox, dataBox, pepper }: AdminService) {
  const boxes = { WEBHOOK_SECRET_KEYS: secretBox(), DATA_ENCRYPTION_KEYS: dataBox() };
  const report = await reportKeys(sql, {
    WEBHOOK_SECRET_KEYS: boxes.WEBHOOK_SECRET_KEYS.keyIds,
    DATA_ENCRYPTION_KEYS: boxes.DATA_ENCRYPTION_KEYS.keyIds,
    API_SECRET_PEPPER: pepperIdsOf(pepper()),
  });
  return { boxes, report };
}

const STATES = {
  newest: () => 'newest',
  older: (rows: number) => (rows === 0 ? 'can be removed' : 'still needed'),
  missing: () => 'MISSING: configure it, or its rows cannot be read',
} as const satisfies Record<KeyUsage['role'], (rows: number) => string>;

function reportText({ keys, unusedApiKeys }: KeyReport): string {
  return blocks(
    table(
      keys.map(({ setting, keyId, rows, role, of }) => {
        const counts = Object.entries(of).map(([name, count]) => `${count} ${name}`);
        return { setting, keyId, rows, state: STATES[role](rows), of: counts.join(', ') };
      }),
    ),
    unusedApiKeys.length > 0 && 'API keys whose secret was not used since the pepper was replaced:',
    table(unusedApiKeys),
  );
}

export const KEYS_COMMANDS = {
  'keys list': defineCommand({
    summary: 'Count what depends on each encryption key and pepper of the settings',
    notes: `The keys of WEBHOOK_SECRET_KEYS, DATA_ENCRYPTION_KEYS and API_SECRET_PEPPER. An older key may be removed once nothing depends on it. API_SECRET_PEPPER shows ids that are made from the
peppers. Exit 1 if rows need a key that no setting has.`,
    options: {},
    async run(service) {
      const { report } = await keysOf(service);
      const failed = report.keys.some(({ role }) => role === 'missing');
      return { data: report, text: reportText(report), failed };
    },
  }),
  'keys reseal': defineCommand({
    summary: 'Encrypt again, with the newest key, what an older one has encrypted',
    notes: `Of webhook secrets, two-factor secrets, bank account numbers, documents and mails. First put the new key in
front of the old ones, for every process of the service: docs/runbook/key-rotation.md. It can be interrupted and run
again. Exit 1 if a value cannot be decrypted. API secrets are not encrypted: each moves to the newest pepper when it
is used.`,
    options: {},
    async run(service) {
      const { sql, actor } = service;
      const { boxes } = await keysOf(service);
      const { resealed, unreadable } = await resealAll({ sql, actor, boxes });
      const { report } = await keysOf(service);
      const text = blocks(
        facts({ resealed, unreadable: unreadable.length }),
        table(unreadable),
        reportText(report),
      );
      return { data: { resealed, unreadable, ...report }, text, failed: unreadable.length > 0 };
    },
  }),
};

/** A started worker polls its task queues within about a second. */
const WAIT_FOR_WORKERS_MS = 10_000;

export const WORKER_COMMANDS = {
  'worker promote': defineCommand({
    summary: 'Make a version of the workers current: it gets the tasks of all orders',
    notes: `The version is that of TEMPORAL_WORKER_BUILD_ID. It must have a worker on every task queue. Workers of the
previous version can be stopped once it is current. To roll back, promote the previous version, which needs
running workers.`,
    options: { build: { value: 'ID', help: 'Instead of TEMPORAL_WORKER_BUILD_ID' } },
    async run({ config, temporal }, { build }) {
      const { workerVersion } = config;
      if (!workerVersion) throw new SetupError('TEMPORAL_WORKER_BUILD_ID is not set');
      const version = { ...workerVersion, ...(build !== undefined && { buildId: build }) };
      const { makeVersionCurrent } = await import('../../temporal/worker-versions.ts');
      const options = { taskQueues: TASK_QUEUES, waitMs: WAIT_FOR_WORKERS_MS };
      const result = await makeVersionCurrent(await temporal(), version, options);
      if ('unserved' in result) {
        const queues = result.unserved.join(', ');
        throw new SetupError(
          `No worker of build ${version.buildId} serves ${queues}: start one first`,
        );
      }
      return { data: { ...version, ...result } };
    },
  }),
  'worker replay': defineCommand({
    summary: "Replay live orders' histories with this checkout's workflows",
    notes: `Run it before a deploy: an order that fails here would be blocked with the new code until the code is fixed.
The sample has the newest orders of every status, and the oldest ones that are not final. It changes nothing.
RUNNING says whether the order's workflow still runs, also if the order is final: a closed one needs nothing.`,
    options: { count: { value: 'COUNT', help: 'The number of orders', as: COUNT, fallback: 200 } },
    async run(service, { count }) {
      const sample = await sampleOrders(service.sql, count);
      const { replayOrders } = await import('../replay.ts');
      const orderNumbers = sample.map(({ orderNumber }) => orderNumber);
      const client = await service.temporal();
      const { replayed, failures } = await replayOrders(client, orderNumbers, service.config);
      const gone = sample.length - replayed.length;
      const found = new Set(replayed);
      const ofReplayed = sample.filter(({ orderNumber }) => found.has(orderNumber));
      const counts = ORDER_STATUSES.map(
        (status) => [status, ofReplayed.filter((one) => one.status === status).length] as const,
      ).filter(([, ofStatus]) => ofStatus > 0);
      const statuses = Object.fromEntries(counts);
      const each = counts.map(([status, ofStatus]) => `${ofStatus} ${status}`).join(', ');
      const figures =
        `${replayed.length} orders replayed${each && ` (${each})`}, ${failures.length} failed` +
        (gone > 0 ? `; ${gone} of the sample have no history in Temporal.` : '.');
      const data = { replayed: replayed.length, statuses, gone, failures };
      return { data, text: blocks(figures, table(failures)), failed: failures.length > 0 };
    },
  }),
};
