import { saveWebhookUrl } from '../../webhooks/endpoints/endpoints.ts';
import { listDeliveries, showDelivery } from '../../webhooks/lists/delivery-list.ts';
import { retryDelivery } from '../../webhooks/resend/manual-retry.ts';
import type { ManualRetryDeps, RetryOutcome } from '../../webhooks/resend/manual-retry.ts';
import { resendFailedSince } from '../../webhooks/resend/resend.ts';
import { DELIVERY_STATES } from '../../webhooks/schedule/attempt-log.ts';
import { createUrlCheck } from '../compose/webhook-rules.ts';
import { TIME } from '../process/command-line.ts';
import { ANY_ENVIRONMENT, ANY_MERCHANT, defineCommand, ENVIRONMENT } from './command.ts';
import { LIMIT, MERCHANT } from './command.ts';
import { deliveryRow, outcomeOf } from './order.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, list, quoted, table, timeText } from './text.ts';

const SHOWN_ONCE = 'The secret is shown only once. Its prefix whsec_ is part of the signing key.';

const OUTCOMES = {
  delivered: 'The endpoint accepted it: DELIVERED.',
  refused: 'The endpoint did not accept it; the state of the delivery is unchanged:',
  started: 'In progress: no worker has finished it yet. It continues after this command.',
} as const satisfies Record<RetryOutcome['outcome'], string>;

const DELIVERY = { value: 'ID', help: 'The delivery', required: true } as const;

async function retryDeps(service: AdminService): Promise<ManualRetryDeps> {
  const { sql, actor } = service;
  const { createDeliveryRetries } = await import('../../temporal/delivery-retries.ts');
  return { sql, actor, retries: createDeliveryRetries(await service.temporal()) };
}

export const WEBHOOK_COMMANDS = {
  'webhook set': defineCommand({
    summary: 'Set the webhook URL; the first time, the secret is made and shown',
    notes: `Production accepts https only. Localhost, private addresses and cloud metadata are refused; a host name that
does not resolve is saved with a warning.`,
    options: {
      merchant: MERCHANT,
      environment: ENVIRONMENT,
      url: { value: 'URL', help: 'The URL of the endpoint', required: true },
    },
    async run(service, { merchant, environment, url }) {
      const { sql, actor, config } = service;
      const deps = { sql, actor, secretBox: service.secretBox(), checkUrl: createUrlCheck(config) };
      const { secret, warning } = await saveWebhookUrl(deps, merchant, environment, url);
      const data = { merchantId: merchant, environment, url, secret, warning };
      return { data, text: blocks(facts(data), secret && SHOWN_ONCE) };
    },
  }),
  'delivery list': defineCommand({
    summary: 'List webhook deliveries with every attempt, the newest first',
    options: {
      merchant: ANY_MERCHANT,
      environment: ANY_ENVIRONMENT,
      order: { value: 'N', help: 'Only of this order' },
      state: { help: 'Only deliveries in this state', choices: DELIVERY_STATES },
      limit: { ...LIMIT, fallback: 1000 },
    },
    async run({ sql }, { merchant: merchantId, environment, order: orderNumber, state, limit }) {
      const filter = { merchantId, environment, orderNumber, state };
      const data = await listDeliveries(sql, filter, limit);
      const rows = data.map((delivery) => {
        const { deliveryId, ...more } = deliveryRow(delivery);
        return { deliveryId, orderNumber: delivery.orderNumber, ...more };
      });
      return { data, text: list(rows) };
    },
  }),
  'delivery show': defineCommand({
    summary: 'Show one delivery, with the response to each attempt',
    options: { delivery: DELIVERY },
    async run({ sql }, { delivery: deliveryId }) {
      const data = await showDelivery(sql, deliveryId);
      const { attempts: _, ...delivery } = data;
      const attempts = data.attempts.map((attempt) => {
        const { at, kind, url, durationMs, answer } = attempt;
        const line = `${timeText(at)} ${kind} ${url}: ${outcomeOf(attempt)} (${durationMs} ms)`;
        return answer ? `${line}\n${quoted(answer)}` : line;
      });
      return { data, text: blocks(facts(delivery), ...attempts) };
    },
  }),
  'delivery retry': defineCommand({
    summary: 'Make one attempt of a delivery now, whatever its state',
    notes: `The attempt does not count as one of the five. Success makes the delivery DELIVERED and ends its schedule;
failure changes nothing. Refused while another attempt of the delivery runs. Exit 1 if the endpoint did not accept it.`,
    options: { delivery: DELIVERY },
    async run(service, { delivery: deliveryId }) {
      const result = await retryDelivery(await retryDeps(service), deliveryId);
      const reason = result.outcome === 'refused' ? result.reason : null;
      const data = { deliveryId, outcome: result.outcome, reason };
      const text = [OUTCOMES[result.outcome], reason].filter(Boolean).join(' ');
      return { data, text, failed: result.outcome === 'refused' };
    },
  }),
  'delivery retry-failed': defineCommand({
    summary: 'Send again what failing endpoints have not accepted since a time',
    notes: `One attempt of each delivery, a few at once, in a workflow for each endpoint: delivery list shows the results.
It ends after 10,000, or a hundred that an endpoint refuses: again, it begins with those not sent by hand before.
Exit 1 if an endpoint has no webhook URL any more, or is being sent to again already.`,
    options: {
      since: {
        value: 'ISO',
        as: TIME,
        help: 'The time, such as 2026-11-20T08:00:00Z',
        required: true,
      },
      merchant: ANY_MERCHANT,
      environment: ANY_ENVIRONMENT,
    },
    async run(service, { since, merchant: merchantId, environment }) {
      const filter = { ...(merchantId && { merchantId }), ...(environment && { environment }) };
      const deps = { ...(await retryDeps(service)), log: service.log };
      const data = await resendFailedSince(deps, since, filter);
      const deliveries = data.reduce((sum, one) => sum + one.deliveries, 0);
      const summary = `${deliveries} webhooks are being sent again.`;
      const failed = data.some(({ reason }) => reason !== null);
      return { data, text: blocks(table(data), summary), failed };
    },
  }),
};
