import type { Settlement } from '../../domain/index.ts';
import type { Order } from '../../orders/schemas.ts';
import type { AdminCommand, CommandResult } from './command.ts';
import { defineCommand, ORDER, UsageError, YES } from './command.ts';
import { listDisputesCommand, showDisputeCommand } from './dispute-list.ts';
import { findCommand } from './order-find.ts';
import { recoverCommand } from './order-recover.ts';
import { retryCommand } from './order-retry.ts';
import { showCommand } from './order-show.ts';
import type { AdminService } from './service.ts';
import { confirm } from './terminal.ts';
import { blocks, facts, rupees } from './text.ts';
import { describeDecision, describeRefund, describeSettlement } from './confirmation-text.ts';

/** The dependencies of the order commands, loaded on demand. */
async function operatorDeps(service: AdminService) {
  const [{ createOrderCommands }, { createOrderPresenter }, { createOrderWorkflows }] =
    await Promise.all([
      import('../../orders/commands/commands.ts'),
      import('../../orders/presenter.ts'),
      import('../../temporal/order-workflows.ts'),
    ]);
  const { sql, actor, config, log } = service;
  const workflows = createOrderWorkflows(await service.temporal());
  const present = createOrderPresenter(config.publicBaseUrl);
  const { durations } = config;
  const commands = createOrderCommands({ sql, workflows, durations, present, log });
  return { sql, actor, log, workflows, commands };
}

function orderResult(order: Order): CommandResult {
  const { order_number: orderNumber, status, dispute, refund } = order;
  const data = {
    orderNumber,
    status,
    disputeCount: order.dispute_count,
    respondBy: dispute?.respond_by ?? null,
    completesAt: order.completes_at,
    refund: refund && {
      amount: refund.amount,
      reason: refund.reason,
      processedAt: refund.processed_at,
    },
  };
  const text = facts({
    Order: orderNumber,
    Status: status,
    Disputes: data.disputeCount,
    'Merchant answers until': data.respondBy ?? undefined,
    'Completes at': data.completesAt ?? undefined,
    Refund: refund ? `INR ${refund.amount.toFixed(2)}, ${refund.reason}` : undefined,
    Refunded: refund ? (refund.processed_at ?? 'under way') : undefined,
  });
  return { data, text };
}

const raiseCommand = defineCommand({
  name: 'dispute raise',
  summary: 'Raise a dispute for a buyer, on a PAID or DELIVERED order',
  options: {
    order: ORDER,
    reason: { value: 'TEXT', help: "The buyer's reason, 10 to 2000 characters", required: true },
  },
  async run(service, { order, reason }) {
    const { raiseDisputeForBuyer } = await import('../../orders/commands/operator-commands.ts');
    return orderResult(await raiseDisputeForBuyer(await operatorDeps(service), order, reason));
  },
});

const decideCommand = defineCommand({
  name: 'dispute decide',
  summary: 'Decide a dispute: for the merchant, or for the buyer, who is refunded',
  notes: 'On a terminal it shows the consequences and asks for confirmation.',
  options: {
    order: ORDER,
    for: {
      value: 'merchant|buyer',
      help: 'Who wins the dispute',
      choices: ['merchant', 'buyer'],
      required: true,
    },
    reason: {
      value: 'TEXT',
      help: 'Why, shown to both sides, 1 to 2000 characters',
      required: true,
    },
    yes: YES,
  },
  async run(service, { order, for: winner, reason, yes }) {
    const { decideDispute } = await import('../../orders/commands/operator-commands.ts');
    const decision = { winner, reason };
    if (!yes) await confirm(service.terminal, () => describeDecision(service.sql, order, decision));
    return orderResult(await decideDispute(await operatorDeps(service), order, decision));
  },
});

const refundCommand = defineCommand({
  name: 'order refund',
  summary: 'Refund a PAID or DELIVERED order for its merchant, who cannot fulfil it',
  notes: `For a merchant who cannot use the API, such as a suspended one. On a terminal it shows the consequences and
asks for confirmation.`,
  options: {
    order: ORDER,
    reason: {
      value: 'TEXT',
      help: 'Why, shown in the timeline, 1 to 1000 characters',
      required: true,
    },
    yes: YES,
  },
  async run(service, { order, reason, yes }) {
    const { refundForMerchant } = await import('../../orders/commands/operator-commands.ts');
    if (!yes) await confirm(service.terminal, () => describeRefund(service.sql, order, reason));
    return orderResult(await refundForMerchant(await operatorDeps(service), order, reason));
  },
});

const settleCommand = defineCommand({
  name: 'order settle',
  summary: 'Record a settlement outside the gateway and end the order: as released, or as refunded',
  notes: `For an order whose release, refund or surplus refund the gateway refuses: move the money first; the reference
identifies the bank transfer, and belongs to one order. Also for an order whose payment was refunded or charged back at
the gateway. --released makes the order COMPLETED, --refunded REFUNDED; without either, its pending operation decides.
It reads the refunds and transfers of the payment at the gateway, and refuses what they contradict: --released while a
refund is pending or made, --refunded while money is released to the merchant, a bank transfer of money that the gateway
has moved. On a terminal it shows the consequences and asks for confirmation.`,
  options: {
    order: ORDER,
    released: { flag: true, help: 'The money went to the merchant: COMPLETED' },
    refunded: { flag: true, help: 'The money went back to the buyer: REFUNDED' },
    reference: {
      value: 'TEXT',
      help: "The bank transfer's reference, such as its UTR, if there was one",
    },
    reason: {
      value: 'TEXT',
      help: 'Why the gateway did not do it, shown to both sides',
      required: true,
    },
    'not-checked': {
      flag: true,
      help: 'Settle it also if the gateway cannot be read: you have looked there yourself',
    },
    yes: YES,
  },
  async run(
    service,
    { order: orderNumber, released, refunded, reference, reason, yes, 'not-checked': notChecked },
  ) {
    const { settleOutside } = await import('../../payments/settlement/settle-outside.ts');
    const outcome = outcomeOf({ released, refunded });
    const settlement = { orderNumber, outcome, reference, reason, notChecked };
    if (!yes) await confirm(service.terminal, () => describeSettlement(service.sql, settlement));
    const deps = { ...(await operatorDeps(service)), gateways: await service.gateways() };
    const { order, warning } = await settleOutside(deps, settlement);
    const { status, amountPaise } = order;
    const text = facts({
      Order: orderNumber,
      Status: status,
      Amount: `INR ${rupees(amountPaise)}`,
      Reference: reference,
    });
    const data = { orderNumber, status, amountPaise, reference: reference ?? null, warning };
    return { data, text: blocks(text, warning && `Warning: ${warning}`) };
  },
});

/** @throws UsageError if both flags are set */
function outcomeOf({ released, refunded }: Record<Settlement, boolean>): Settlement | undefined {
  if (released && refunded) throw new UsageError('--released and --refunded exclude each other');
  if (released) return 'released';
  return refunded ? 'refunded' : undefined;
}

/** The commands for orders and disputes. */
export const ORDER_COMMANDS: readonly AdminCommand[] = [
  showCommand,
  findCommand,
  retryCommand,
  recoverCommand,
  refundCommand,
  settleCommand,
  listDisputesCommand,
  showDisputeCommand,
  raiseCommand,
  decideCommand,
];
