import { DomainError } from '../../domain/index.ts';
import { DELIVERY_STATES } from '../../webhooks/schedule/attempt-log.ts';
import type { Delivery, DeliveryAttempt } from '../../webhooks/lists/delivery-list.ts';
import { listDeliveries, showDelivery } from '../../webhooks/lists/delivery-list.ts';
import { retryDelivery, retryFailedSince } from '../../webhooks/resend/manual-retry.ts';
import type { ManualRetryDeps, RetryOutcome } from '../../webhooks/resend/manual-retry.ts';
import type { AdminCommand } from './command.ts';
import { ANY_ENVIRONMENT, ANY_MERCHANT, defineCommand, timeOf } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, quoted, table, timeText } from './text.ts';

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

/** The result of an attempt: its error or status code. */
const outcomeOf = ({ error, statusCode }: DeliveryAttempt) => String(error ?? statusCode);

function lastAttempt({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  return last ? `${timeText(last.at)} ${outcomeOf(last)}` : '';
}

const listCommand = defineCommand({
  name: 'delivery list',
  summary: 'List webhook deliveries with every attempt, the newest first',
  options: {
    merchant: ANY_MERCHANT,
    environment: ANY_ENVIRONMENT,
    order: { value: 'N', help: 'Only of this order' },
    state: {
      value: DELIVERY_STATES.join('|'),
      help: 'Only deliveries in this state',
      choices: DELIVERY_STATES,
    },
    limit: { value: 'COUNT', help: 'At most this many rows', fallback: '1000' },
  },
  async run({ sql }, { merchant: merchantId, environment, order: orderNumber, state, limit }) {
    if (!/^[1-9]\d{0,6}$/.test(limit)) {
      throw new DomainError('BAD_REQUEST', '--limit must be a whole number from 1');
    }
    const filter = { merchantId, environment, orderNumber, state };
    const data = await listDeliveries(sql, filter, Number(limit));
    const rows = data.map((delivery) => [
      delivery.deliveryId,
      delivery.orderNumber,
      delivery.event,
      delivery.state,
      delivery.attempts.length,
      lastAttempt(delivery),
      delivery.nextAttemptAt && timeText(delivery.nextAttemptAt),
    ]);
    const titles = ['DELIVERY', 'ORDER', 'EVENT', 'STATE', 'ATTEMPTS', 'LAST ATTEMPT', 'NEXT'];
    return { data, text: table(titles, rows) };
  },
});

const showCommand = defineCommand({
  name: 'delivery show',
  summary: 'Show one delivery, with the response to each attempt',
  options: { delivery: DELIVERY },
  async run({ sql }, { delivery: deliveryId }) {
    const data = await showDelivery(sql, deliveryId);
    const head = facts({
      Delivery: deliveryId,
      Event: `${data.event} ${data.eventId}`,
      Order: data.orderNumber,
      State: data.state,
      Next: data.nextAttemptAt ? timeText(data.nextAttemptAt) : undefined,
    });
    const attempts = data.attempts.map((attempt) => {
      const { at, kind, url, durationMs, answer } = attempt;
      const line = `${timeText(at)} ${kind} ${url}: ${outcomeOf(attempt)} (${durationMs} ms)`;
      return answer ? `${line}\n${quoted(answer)}` : line;
    });
    return { data, text: blocks(head, ...attempts) };
  },
});

const retryCommand = defineCommand({
  name: 'delivery retry',
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
});

const retryFailedCommand = defineCommand({
  name: 'delivery retry-failed',
  summary: 'Retry every delivery with a failed attempt since a time, a few concurrently',
  notes: 'Exit 1 if an endpoint did not accept a delivery, or a delivery could not be retried.',
  options: {
    since: { value: 'ISO', help: 'The time, such as 2026-11-20T08:00:00Z', required: true },
    merchant: ANY_MERCHANT,
    environment: ANY_ENVIRONMENT,
  },
  async run(service, { since, merchant: merchantId, environment }) {
    const filter = { merchantId, environment };
    const moment = timeOf('since', since);
    const deliveries = await retryFailedSince(await retryDeps(service), moment, filter);
    const countOf = (outcome: string) => deliveries.filter((one) => one.outcome === outcome).length;
    const data = {
      delivered: countOf('delivered'),
      refused: countOf('refused'),
      started: countOf('started'),
      notRetried: countOf('not_retried'),
      deliveries,
    };
    const rows = deliveries.map((one) => [one.deliveryId, one.outcome, one.reason]);
    const summary = `${deliveries.length} retried: ${data.delivered} delivered, ${data.refused} refused.`;
    const list = rows.length > 0 && table(['DELIVERY', 'OUTCOME', 'REASON'], rows);
    return { data, text: blocks(list, summary), failed: data.refused + data.notRetried > 0 };
  },
});

/** The commands for webhook deliveries. */
export const DELIVERY_COMMANDS: readonly AdminCommand[] = [
  listCommand,
  showCommand,
  retryCommand,
  retryFailedCommand,
];
