import type { Actor } from '../../db/actor.ts';
import type { Alongside } from '../../db/alongside.ts';
import type { Settlement } from '../../domain/index.ts';
import { createOrderCommands } from '../../orders/commands/commands.ts';
import { decideDispute, recoverForOperator } from '../../orders/commands/operator-commands.ts';
import { findOrderAnywhere } from '../../orders/lists/find-orders.ts';
import { createOrderPresenter } from '../../orders/presenter.ts';
import type { OrderRow } from '../../orders/rows.ts';
import type { Order } from '../../orders/schemas.ts';
import { readDisputes } from '../../orders/steps/disputes.ts';
import { compareOrders, wakeOrdersWithWebhooks } from '../../orders/wake/compare-orders.ts';
import { alertLostOrders } from '../../orders/wake/lost-orders.ts';
import type { RetriedCall } from '../../payments/gateway/gateway-calls.ts';
import { retryGatewayCalls } from '../../payments/gateway/gateway-calls.ts';
import {
  consequenceOfDecision,
  consequenceOfSettlement,
  NOT_CHECKED,
} from '../../payments/operators/consequences.ts';
import type { OutsideSettlement } from '../../payments/settlement/settle-outside.ts';
import { settleOutside } from '../../payments/settlement/settle-outside.ts';
import { recoverPayments } from '../../payments/reconcile/recover-payments.ts';
import { needsProposal } from '../../proposals/second-person.ts';
import { TIME, UsageError } from '../process/command-line.ts';
import { ALONE, ALONE_NOTES, actAlone, assertAlone } from './break-glass.ts';
import type { AdminCommand, CommandResult } from './command.ts';
import { defineCommand, ORDER, REASON, YES } from './command.ts';
import { inspectorDeps } from './order.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, inr, quoted, timeText } from './text.ts';

const DAY_MS = 24 * 3600_000;

const retryCommand = defineCommand({
  name: 'order retry',
  summary: 'Retry a failing gateway call now, not at its next scheduled retry',
  notes: `The call is a release, a refund, a surplus refund, or the closing of a payment session. Refused if no call is
waiting for a retry. Exit 1 if the gateway fails or refuses again; the scheduled retries continue.`,
  options: { order: ORDER, reason: REASON },
  async run(service, { order: orderNumber, reason }) {
    const deps = { ...(await inspectorDeps(service)), actor: service.actor };
    const calls = await retryGatewayCalls(deps, orderNumber, reason);
    const data = { orderNumber, calls };
    const failed = calls.some(({ result }) => result.outcome === 'failed');
    return { data, text: calls.map(retriedText).join('\n'), failed };
  },
});

function retriedText({ what, result }: RetriedCall): string {
  const subject = `The ${what}`;
  switch (result.outcome) {
    case 'done':
      return `${subject}: done.`;
    case 'started':
      return `${subject}: in progress; order show reports its result.`;
    case 'failed': {
      const next = result.nextTryAt ? `, next try ${timeText(result.nextTryAt)}` : '';
      return `${subject}: failed again${next}.\n${quoted(result.error ?? 'No reason was given')}`;
    }
  }
}

const RECOVERED = {
  started: 'Its workflow was missing, and is started again.',
  signalled: 'Its workflow runs, and now reads what the database has.',
  final: 'It is final: there is nothing to recover.',
} as const;

const recoverCommand = defineCommand({
  name: 'order recover',
  summary: 'Wake an order, or after a restore all that differ from their workflows',
  notes: `Starts the workflow of an order that has none; a running workflow reads what the database has. Steps
that only one side has are copied to the other. Nothing is paid out twice: the gateway is asked first. --all compares
the status of every order that is not final, and wakes those that differ; it also sends unsent webhooks, those
of final orders included. It also finds what a restored database has lost since --since, a time before the backup was
made: steps, by waking each order whose workflow has changed since then; ended orders, each of which raises an alert;
and payments, by asking the gateway about every payment session since then. Run it again a minute later: Temporal's
list of workflows lags behind.`,
  options: {
    order: { value: 'N', help: 'The order number' },
    all: { flag: true, help: 'Every order that is not final' },
    since: {
      value: 'ISO',
      as: TIME,
      help: 'With --all: a time before the backup was made (default: a day ago)',
    },
  },
  async run(service, { order: orderNumber, all, since }) {
    if ((orderNumber === undefined) !== all) throw new UsageError('give either --order N or --all');
    if (orderNumber === undefined) {
      const aDayAgo = new Date(Date.now() - DAY_MS);
      return recoverAll(service, since ?? aDayAgo);
    }
    const { sql, log, actor } = service;
    const deps = { sql, log, actor, workflows: await service.workflows() };
    const outcome = await recoverForOperator(deps, orderNumber);
    return { data: { orderNumber, outcome }, text: RECOVERED[outcome] };
  },
});

/** Wakes the orders that differ from their workflows, then finds what a restored database has lost. */
async function recoverAll(service: AdminService, since: Date): Promise<CommandResult> {
  const { sql, log } = service;
  const deps = { sql, log, workflows: await service.workflows() };
  const gateways = await service.gateways();
  const { compared, woken } = await compareOrders(deps, { changedSince: since });
  const unsent = await wakeOrdersWithWebhooks(deps);
  const lost = await alertLostOrders(deps, since);
  const sessions = await recoverPayments({ ...deps, gateways }, since.getTime());
  return {
    data: { compared, woken, unsent, lost, sessions },
    text: facts({
      compared,
      woken,
      'With unsent webhooks': unsent,
      'Lost by the database': lost,
      'Payment sessions checked': sessions,
    }),
  };
}

const decideCommand = defineCommand({
  name: 'dispute decide',
  summary: 'Decide a dispute: for the merchant, or for the buyer, who is refunded',
  notes: `On a terminal it shows the consequences and asks for confirmation. Above PROPOSAL_ABOVE_PAISE it needs two operators.
${ALONE_NOTES}`,
  options: {
    order: ORDER,
    for: {
      help: 'Who wins the dispute',
      choices: ['merchant', 'buyer'],
      required: true,
    },
    reason: { ...REASON, help: 'Why, shown to both sides, 1 to 2000 characters' },
    ...ALONE,
    yes: YES,
  },
  async run(service, { order: orderNumber, for: winner, reason, yes, ...alone }) {
    const { sql, config } = service;
    const { proposalAbovePaise } = config;
    const needsTwo = await needsProposal(
      { sql, proposalAbovePaise },
      'dispute.decide',
      orderNumber,
    );
    if (needsTwo) assertAlone('dispute decide above this amount', { ...alone, reason });
    if (!yes) {
      await service.confirm(async () => {
        const { order, sentence } = await consequenceOfDecision(sql, inr, orderNumber, winner);
        const [last] = (await readDisputes(sql, orderNumber)).slice(-1);
        return blocks(orderText(order), last && facts(last), sentence, readBy(reason));
      });
    }
    const by = needsTwo
      ? await aloneOn(service, 'dispute.decide', orderNumber, { ...alone, reason })
      : {};
    const deps = { ...(await operatorDeps(service)), ...by };
    return orderResult(await decideDispute(deps, orderNumber, { winner, reason }));
  },
});

/** Asks the operator for password and code. @throws DomainError */
async function aloneOn(
  service: AdminService,
  kind: 'dispute.decide' | 'order.settle',
  orderNumber: string,
  { as, reason }: { as: string | undefined; reason: string },
): Promise<{ actor: Actor; alongside: Alongside }> {
  const { merchantId } = await findOrderAnywhere(service.sql, orderNumber);
  return actAlone(service, as ?? '', { kind, subject: orderNumber, merchantId, reason });
}

/** The dependencies of the operators' commands on orders. */
async function operatorDeps(service: AdminService) {
  const { sql, actor, config, log } = service;
  const workflows = await service.workflows();
  const present = createOrderPresenter(config.publicBaseUrl);
  const { durations } = config;
  const commands = createOrderCommands({ sql, workflows, durations, present, log });
  return { sql, actor, log, workflows, commands };
}

function orderResult(order: Order): CommandResult {
  const { order_number: orderNumber, status, refund } = order;
  const data = {
    orderNumber,
    status,
    disputeCount: order.dispute_count,
    completesAt: order.completes_at,
    refund: refund && {
      amount: refund.amount,
      reason: refund.reason,
      processedAt: refund.processed_at,
    },
  };
  const inWords = refund && `INR ${refund.amount.toFixed(2)}, ${refund.reason}`;
  const processedAt = refund && (refund.processed_at ?? 'under way');
  return { data, text: facts({ ...data, refund: inWords, refundProcessedAt: processedAt }) };
}

const settleCommand = defineCommand({
  name: 'order settle',
  summary: 'Record that its money was moved outside the gateway, and end the order',
  notes: `For an order whose release, refund or surplus refund the gateway refuses: move the money first; the reference
identifies the bank transfer, and belongs to one order. Also for an order whose payment was refunded or charged back at
the gateway. --released makes the order COMPLETED, --refunded REFUNDED; without either, its pending operation decides.
It reads the refunds and transfers of the payment at the gateway, and refuses what they contradict: --released while a
refund is pending or made, --refunded while money is released to the merchant, a bank transfer of money that the gateway
has moved. On a terminal it shows the consequences and asks for confirmation.
${ALONE_NOTES}`,
  options: {
    order: ORDER,
    released: { flag: true, help: 'The money went to the merchant: COMPLETED' },
    refunded: { flag: true, help: 'The money went back to the buyer: REFUNDED' },
    reference: {
      value: 'TEXT',
      help: "The bank transfer's reference, such as its UTR, if there was one",
    },
    reason: { ...REASON, help: 'Why the gateway did not do it, shown to both sides' },
    'not-checked': {
      flag: true,
      help: 'Settle it also if the gateway cannot be read: you have looked there yourself',
    },
    ...ALONE,
    yes: YES,
  },
  async run(service, { order: orderNumber, released, refunded, reference, reason, ...flags }) {
    const outcome = outcomeOf({ released, refunded });
    const { as, 'break-glass': isAlone } = flags;
    assertAlone('order settle', { as, 'break-glass': isAlone, reason });
    const notChecked = flags['not-checked'];
    const settlement = { orderNumber, outcome, reference, reason, notChecked };
    if (!flags.yes) await service.confirm(() => describeSettlement(service, settlement));
    const by = await aloneOn(service, 'order.settle', orderNumber, { as, reason });
    const gateways = await service.gateways();
    const deps = { ...(await operatorDeps(service)), gateways, ...by };
    const { order, warning } = await settleOutside(deps, settlement);
    const { status, amountPaise } = order;
    const data = { orderNumber, status, amountPaise, reference: reference ?? null, warning };
    return { data };
  },
});

/** @throws UsageError if both flags are set */
function outcomeOf({ released, refunded }: Record<Settlement, boolean>): Settlement | undefined {
  if (released && refunded) throw new UsageError('--released and --refunded exclude each other');
  if (released) return 'released';
  return refunded ? 'refunded' : undefined;
}

/** @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` if there is nothing to settle */
async function describeSettlement(
  { sql }: AdminService,
  { orderNumber, outcome, reference, reason, notChecked }: OutsideSettlement,
): Promise<string> {
  const { order, sentence } = await consequenceOfSettlement(sql, inr, orderNumber, outcome);
  return blocks(
    orderText(order),
    sentence,
    notChecked && NOT_CHECKED,
    reference !== undefined && `Its reference is:\n${quoted(reference)}`,
    readBy(reason),
  );
}

const readBy = (reason: string) => `Both sides will read:\n${quoted(reason)}`;

function orderText(order: OrderRow): string {
  const { orderNumber, merchantId, environment, status, amountPaise, description } = order;
  return facts({ orderNumber, merchantId, environment, status, amountPaise, description });
}

/** The commands that act on orders and disputes. */
export const ORDER_ACTIONS: readonly AdminCommand[] = [
  retryCommand,
  recoverCommand,
  settleCommand,
  decideCommand,
];
