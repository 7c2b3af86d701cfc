import { decideDispute, recoverForOperator } from '../../orders/commands/operator-commands.ts';
import { findOrderAnywhere } from '../../orders/find-order.ts';
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
  findOrderToSettle,
  findSurplusToSettle,
  NOT_CHECKED,
} from '../../payments/operators/consequences.ts';
import { settleOutside } from '../../payments/settlement/settle-outside.ts';
import { recoverPayments } from '../../payments/reconcile/recover-payments.ts';
import { needsProposal } from '../../proposals/second-person.ts';
import { flagOption, textOption, TIME, UsageError } from '../process/command-line.ts';
import { ALONE_NOTES, AS_ALONE, typedAlone } from './break-glass.ts';
import type { CommandResult } from './command.ts';
import { defineCommand, ORDER, REASON, YES } from './command.ts';
import { inspectorDeps } from './order.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, inr, quoted, timeText } from './text.ts';

const DAY_MS = 24 * 3600_000;

const RECOVERED = {
  started: 'Its workflow was missing, and is started again.',
  signalled: 'Its workflow runs, and now reads what the database has.',
  final: 'It is final: there is nothing to recover.',
} as const;

export const ORDER_ACTIONS = {
  'order retry': defineCommand({
    summary: 'Retry a failing gateway call now, not at its next scheduled retry',
    notes: `The call is a release, a refund, a surplus refund, or the closing of a payment session. Refused if no call is
waiting for a retry. Exit 1 if the gateway fails or refuses again; the scheduled retries continue.`,
    options: { order: ORDER, reason: REASON },
    async run(service, { order: orderNumber, reason }) {
      const deps = { ...inspectorDeps(service), actor: service.actor };
      const calls = await retryGatewayCalls(deps, orderNumber, reason);
      const data = { orderNumber, calls };
      const failed = calls.some(({ result }) => result.outcome === 'failed');
      return { data, text: calls.map(retriedText).join('\n'), failed };
    },
  }),
  'order recover': defineCommand({
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
      all: flagOption('Every order that is not final'),
      since: {
        value: 'ISO',
        as: TIME,
        help: 'With --all: a time before the backup was made (default: a day ago)',
      },
    },
    async run(service, { order: orderNumber, all, since }) {
      if ((orderNumber === undefined) !== all)
        throw new UsageError('give either --order N or --all');
      if (orderNumber === undefined) {
        return recoverAll(service, since ?? new Date(Date.now() - DAY_MS));
      }
      const { sql, log, actor } = service;
      const deps = { sql, log, actor, workflows: await service.workflows() };
      const outcome = await recoverForOperator(deps, orderNumber);
      return { data: { orderNumber, outcome }, text: RECOVERED[outcome] };
    },
  }),
  'order settle': defineCommand({
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
      released: flagOption('The money went to the merchant: COMPLETED'),
      refunded: flagOption('The money went back to the buyer: REFUNDED'),
      reference: textOption("The bank transfer's reference, such as its UTR, if there was one"),
      reason: { ...REASON, help: 'Why the gateway did not do it, shown to both sides' },
      'not-checked': flagOption(
        'Settle it also if the gateway cannot be read: you have looked there yourself',
      ),
      ...AS_ALONE,
      yes: YES,
    },
    async run(service, { order: orderNumber, released, refunded, reference, reason, ...flags }) {
      if (released && refunded)
        throw new UsageError('--released and --refunded exclude each other');
      const actAlone = typedAlone(service, 'order settle', { ...flags, reason });
      const wanted = refunded ? 'refunded' : undefined;
      const outcome = released ? 'released' : wanted;
      const notChecked = flags['not-checked'];
      const { sql } = service;
      const gateways = await service.gateways();
      const given = { ...(await operatorDeps(service)), gateways };
      const found = await findOrderToSettle(given, orderNumber, outcome);
      const surplus = await findSurplusToSettle(sql, found, outcome);
      const asked = { orderNumber, outcome, reference, reason, notChecked, surplus } as const;
      await service.confirm(flags.yes, async () => {
        const { order, sentence } = await consequenceOfSettlement(sql, inr, orderNumber, asked);
        return blocks(
          orderText(order),
          sentence,
          notChecked && NOT_CHECKED,
          reference !== undefined && `Its reference is:\n${quoted(reference)}`,
          readBy(reason),
        );
      });
      const { merchantId } = found;
      const by = await actAlone({ kind: 'order.settle', subject: orderNumber, merchantId });
      const { order, warning } = await settleOutside({ ...given, ...by }, asked);
      const { status, amountPaise } = order;
      return { data: { orderNumber, status, amountPaise, reference: reference ?? null, warning } };
    },
  }),
  'dispute decide': defineCommand({
    summary: 'Decide a dispute: for the merchant, or for the buyer, who is refunded',
    notes: `On a terminal it shows the consequences and asks for confirmation. Above PROPOSAL_ABOVE_PAISE it needs two operators.
${ALONE_NOTES}`,
    options: {
      order: ORDER,
      for: { help: 'Who wins the dispute', choices: ['merchant', 'buyer'], required: true },
      reason: { ...REASON, help: 'Why, shown to both sides, 1 to 2000 characters' },
      ...AS_ALONE,
      yes: YES,
    },
    async run(service, { order: orderNumber, for: winner, reason, yes, ...flags }) {
      const { sql } = service;
      const { proposalAbovePaise } = service.config;
      const kind = 'dispute.decide';
      const typed = { ...flags, reason };
      const actAlone =
        (await needsProposal({ sql, proposalAbovePaise }, kind, orderNumber)) &&
        typedAlone(service, 'dispute decide above this amount', typed);
      await service.confirm(yes, async () => {
        const { order, sentence } = await consequenceOfDecision(sql, inr, orderNumber, winner);
        const last = (await readDisputes(sql, orderNumber)).at(-1);
        return blocks(orderText(order), last && facts(last), sentence, readBy(reason));
      });
      const { merchantId } = await findOrderAnywhere(sql, orderNumber);
      const by = actAlone && (await actAlone({ kind, subject: orderNumber, merchantId }));
      const deps = { ...(await operatorDeps(service)), ...by };
      return orderResult(await decideDispute(deps, orderNumber, { winner, reason }));
    },
  }),
};

function retriedText({ what, result }: RetriedCall): string {
  if (result.outcome === 'done') return `The ${what}: done.`;
  if (result.outcome === 'started') {
    return `The ${what}: in progress; order show reports its result.`;
  }
  const next = result.nextTryAt ? `, next try ${timeText(result.nextTryAt)}` : '';
  return `The ${what}: failed again${next}.\n${quoted(result.error ?? 'No reason was given')}`;
}

/** Wakes the orders that differ from their workflows, then finds what a restored database has lost. */
async function recoverAll(service: AdminService, since: Date): Promise<CommandResult> {
  const { sql, log } = service;
  const deps = { sql, log, workflows: await service.workflows() };
  const gateways = await service.gateways();
  const { compared, woken, failed: notWoken } = await compareOrders(deps, { changedSince: since });
  const { unsent, failed: notSent } = await wakeOrdersWithWebhooks(deps);
  const lost = await alertLostOrders(deps, since);
  const sessions = await recoverPayments({ ...deps, gateways }, since.getTime());
  const failed = notWoken + notSent + sessions.failed;
  const text = facts({
    compared,
    woken,
    'With unsent webhooks': unsent,
    'Lost by the database': lost,
    'Payment sessions checked': sessions.listed,
    'Failed, to be repeated': failed,
  });
  const data = { compared, woken, unsent, lost, sessions: sessions.listed, failed };
  return { data, text, failed: failed > 0 };
}

/** The dependencies of the operators' commands on orders. */
async function operatorDeps(service: AdminService) {
  const { sql, actor, config, log } = service;
  const workflows = await service.workflows();
  const present = createOrderPresenter(config.publicBaseUrl);
  return { sql, actor, log, workflows, durations: config.durations, present };
}

function orderResult(order: Order): CommandResult {
  const { order_number: orderNumber, status, dispute_count: disputeCount, refund } = order;
  const shown = { orderNumber, status, disputeCount, completesAt: order.completes_at };
  if (!refund) return { data: { ...shown, refund } };
  const { amount, reason, processed_at: processedAt } = refund;
  const inWords = `INR ${amount.toFixed(2)}, ${reason}`;
  const text = facts({ ...shown, refund: inWords, refundProcessedAt: processedAt ?? 'under way' });
  return { data: { ...shown, refund: { amount, reason, processedAt } }, text };
}

const readBy = (reason: string) => `Both sides will read:\n${quoted(reason)}`;

function orderText(order: OrderRow): string {
  const { orderNumber, merchantId, environment, status, amountPaise, description } = order;
  return facts({ orderNumber, merchantId, environment, status, amountPaise, description });
}
