import { z } from 'zod';
import {
  decideDispute,
  findOrderAnywhere,
  isRecorded,
  refundForMerchant,
} from '../orders/public.ts';
import { rupeesText } from '../pages/format.ts';
import type { OutsideSettlement } from '../payments/public.ts';
import {
  checkSettlement,
  consequenceOfDecision,
  consequenceOfRefund,
  consequenceOfSettlement,
  NOT_CHECKED,
  settleOutside,
} from '../payments/public.ts';
import type { Before, Change, Proposal, ProposalDeps } from './context.ts';
import type { CarryOutDeps } from './kind-rules.ts';
import { defineKind } from './kind-rules.ts';

/** The id of the command of a proposal about an order. A repeat has the same id. */
const commandIdOf = ({ proposalId }: Proposal) => `proposal:${proposalId}`;

/** The row of a command does not record that the proposal is carried out: the order's workflow may still refuse it. */
const inCommand = (deps: CarryOutDeps, proposal: Proposal) => ({
  ...deps,
  commandId: commandIdOf(proposal),
  alongside: undefined,
});

const isCommandRecorded = ({ sql }: ProposalDeps, { subject }: Proposal, commandId: string) =>
  isRecorded(sql, { orderNumber: subject, commandId });

/** The facts that an order's proposal depends on. `sentence` says what will happen, with the amounts. */
async function orderBefore(
  { sql }: ProposalDeps,
  orderNumber: string,
  sentence: string,
): Promise<Before> {
  const order = await findOrderAnywhere(sql, orderNumber);
  const { status, amountPaise, disputeCount, pendingOperation } = order;
  return {
    status,
    amountPaise,
    disputeCount,
    pendingOperation: pendingOperation?.kind ?? null,
    sentence,
  };
}

const changesOfOrder = ({ status, sentence }: Before): Change[] => [
  { what: 'Order', before: String(status), after: String(sentence) },
];

/** A refund for a merchant, by `refundForMerchant`. */
export const refund = defineKind({
  title: 'Refund an order for its merchant',
  about: 'order',
  parameters: z.strictObject({}),
  maxReasonLength: 1000,
  readBefore: async (deps, { subject }) => {
    const { sentence } = await consequenceOfRefund(deps.sql, rupeesText, subject);
    return orderBefore(deps, subject, sentence);
  },
  needsNoComparison: (deps, proposal) => isCommandRecorded(deps, proposal, commandIdOf(proposal)),
  changes: changesOfOrder,
  carryOut: (deps, proposal) =>
    refundForMerchant(inCommand(deps, proposal), proposal.subject, proposal.reason),
});

export const decide = defineKind({
  title: 'Decide a dispute',
  about: 'order',
  parameters: z.strictObject({ winner: z.enum(['merchant', 'buyer']) }),
  maxReasonLength: 2000,
  readBefore: async (deps, { subject }, { winner }) => {
    const { sentence } = await consequenceOfDecision(deps.sql, rupeesText, subject, winner);
    return orderBefore(deps, subject, sentence);
  },
  needsNoComparison: (deps, proposal) => isCommandRecorded(deps, proposal, commandIdOf(proposal)),
  changes: changesOfOrder,
  carryOut: (deps, proposal, { winner }) =>
    decideDispute(inCommand(deps, proposal), proposal.subject, { winner, reason: proposal.reason }),
});

const settlement = z.strictObject({
  outcome: z.enum(['released', 'refunded']).nullable(),
  reference: z.string().nullable(),
  notChecked: z.boolean(),
  /** The ids of the captures that it is about, with blanks between them. Null if it is about the order's payment. */
  surplus: z.string().nullable(),
});

function settlementOf(
  { subject: orderNumber, reason }: Pick<Proposal, 'subject' | 'reason'>,
  { outcome, reference, notChecked, surplus }: z.output<typeof settlement>,
): OutsideSettlement {
  return {
    orderNumber,
    outcome: outcome ?? undefined,
    reference: reference ?? undefined,
    reason,
    notChecked,
    surplus: surplus?.split(' ') ?? [],
  };
}

export const settle = defineKind({
  title: 'Settle an order outside the gateway',
  about: 'order',
  parameters: settlement,
  maxReasonLength: 1000,
  readBefore: async (deps, proposal, parameters) => {
    const asked = settlementOf(proposal, parameters);
    const { subject } = proposal;
    const { sentence } = await consequenceOfSettlement(deps.sql, rupeesText, subject, asked);
    await checkSettlement(deps, asked);
    return orderBefore(deps, subject, sentence);
  },
  needsNoComparison: async (deps, proposal) =>
    settlement.parse(proposal.parameters).surplus !== null ||
    isCommandRecorded(deps, proposal, `settle:${proposal.subject}`),
  changes: (before, { reference, notChecked }) => [
    ...changesOfOrder(before),
    { what: 'Reference of the bank transfer', before: null, after: reference ?? 'none' },
    ...(notChecked ? [{ what: 'At the gateway', before: null, after: NOT_CHECKED }] : []),
  ],
  carryOut: ({ sql, log, gateways, workflows, actor }, proposal, parameters) =>
    settleOutside({ sql, log, gateways, workflows, actor }, settlementOf(proposal, parameters)),
});
