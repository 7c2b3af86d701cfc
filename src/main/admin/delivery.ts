import { DomainError } from '../../domain/index.ts';
import type { Delivery, DeliveryAttempt } from '../../webhooks/delivery-list.ts';
import { listDeliveries, showDelivery } from '../../webhooks/delivery-list.ts';
import { retryDelivery, retryFailedSince } from '../../webhooks/manual-retry.ts';
import type { ManualRetryDeps, RetryOutcome } from '../../webhooks/manual-retry.ts';
import type { AdminCommand } from './command.ts';
import { ANY_ENVIRONMENT, ANY_MERCHANT, defineCommand, timeOf } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, quoted, table, timeText } from './text.ts';

const STATES = ['PENDING', 'DELIVERED', 'FAILED'] as const;

const OUTCOMES = {
  delivered: 'The receiver took it: DELIVERED.',
  refused: 'The receiver did not take it, and the delivery stays what it was:',
  started: 'Under way: no worker has finished it yet, but it survives this command.',
} as const satisfies Record<RetryOutcome['outcome'], string>;

const DELIVERY = { value: 'ID', help: 'The delivery', required: true } as const;

async function retryDeps(service: AdminService): Promise<ManualRetryDeps> {
  const { sql, actor } = service;
  const { createDeliveryRetries } = await import('../../temporal/delivery-retries.ts');
  return { sql, actor, retries: createDeliveryRetries(await service.temporal()) };
}

/** What came of an attempt, in a few words. */
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
    state: { value: STATES.join('|'), help: 'Only these', choices: STATES },
    limit: { value: 'COUNT', help: 'At most so many', fallback: '1000' },
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
  summary: 'Show one delivery, with what its receiver answered to each attempt',
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
  notes: `It is not one of the five: success makes the delivery DELIVERED and ends the schedule, failure changes
nothing. Refused while an attempt of this delivery is under way. Exit 1 when the receiver did not take it.`,
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
  summary: 'Retry every delivery that failed since a time, FAILED or still PENDING, a few at once',
  notes: 'Exit 1 when a receiver did not take one, or one could not be tried.',
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

/** Events on their way to merchants. */
export const DELIVERY_COMMANDS: readonly AdminCommand[] = [
  listCommand,
  showCommand,
  retryCommand,
  retryFailedCommand,
];
