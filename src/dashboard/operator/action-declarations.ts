import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { OperatorAction, OperatorRole } from '../../accounts/public.ts';
import { DISPUTES_PER_DAY } from '../../accounts/public.ts';
import type { Actor } from '../../db/actor.ts';
import { DomainError, isFinal, transitionOf } from '../../domain/index.ts';
import type { OrderRow } from '../../orders/public.ts';
import {
  decideDispute,
  raiseDisputeForBuyer,
  recoverForOperator,
  refundForMerchant,
} from '../../orders/public.ts';
import { rupeesText } from '../../pages/format.ts';
import type { Consequence, OrderView, OrderWorkflowsView } from '../../payments/public.ts';
import {
  consequenceOfDecision,
  consequenceOfRefund,
  consequenceOfSettlement,
  NOT_CHECKED,
  retryGatewayCalls,
} from '../../payments/public.ts';
import type { Proposed } from '../../proposals/public.ts';
import { checkBox, choice, textField } from '../view/fields.ts';
import { useOwnForm } from '../view/typed.ts';
import type { DoneCode, OperatorPageDeps } from './parts.ts';
import { reasonField } from './parts.ts';

/** How long the dashboard waits for the result of a retried call. Later results are on the order's page. */
const RETRY_WAIT_MS = 3000;

export interface ActionValues {
  reason: string;
  winner: string;
  outcome: string;
  reference: string;
  /** `on` if the operator accepts that the gateway is not checked. */
  notChecked?: string | undefined;
  /** The captures that the question was about: as in the parameters of the proposal. */
  surplus: string;
}

/** The state by which an action is offered. */
export interface ShownState {
  order: OrderRow;
  view: OrderView;
  workflows: OrderWorkflowsView;
  canMerchantRefund: boolean;
}

export interface OrderAction {
  readonly title: string;
  readonly button: string;
  readonly permission: OperatorAction;
  /** Whether it is offered; the action itself decides when it is carried out. */
  readonly fits: (state: ShownState) => boolean;
  readonly fields: () => ComponentChildren[];
  /** What will happen, asked before an action that moves money. @throws DomainError */
  readonly confirmation?: (
    deps: OperatorPageDeps,
    orderNumber: string,
    values: ActionValues,
  ) => Promise<Pick<Consequence, 'sentence' | 'amountPaise' | 'to' | 'surplus'>>;
  /** What is proposed where the action needs a second person. @throws DomainError */
  readonly proposed?: {
    readonly kind: Proposed['kind'];
    readonly parametersOf: (values: ActionValues) => Proposed['parameters'];
  };
  /** Absent where the action always needs one. @throws DomainError */
  readonly carryOut?: (
    deps: OperatorPageDeps & { actor: Actor; role: OperatorRole },
    orderNumber: string,
    values: ActionValues,
  ) => Promise<DoneCode>;
}

const sharedReason = () => reasonField('Both sides read it.', { maxLength: 2000 });
const timelineReason = () => reasonField('Both sides read it in the timeline.');

/** Offered once the gateway could not be read. */
function NotChecked() {
  const state = useOwnForm();
  const isOffered =
    state?.again?.refusal?.code === 'GATEWAY_UNAVAILABLE' ||
    state?.values['notChecked'] !== undefined;
  if (!isOffered) return null;
  return checkBox({
    name: 'notChecked',
    label: 'Not checked: record it even if the gateway cannot be read',
    hint: 'Look into the dashboard of the gateway first.',
  });
}

/** The actions on an order, by the last part of their path. */
export const ORDER_ACTIONS = {
  retry: {
    title: 'Retry now',
    button: 'Retry the call to the gateway now',
    permission: 'order.retry',
    fits: ({ workflows }) =>
      workflows.gatewayCalls.some(({ state }) => state === 'waiting' || state === 'paused'),
    fields: () => [reasonField('For the audit log.')],
    carryOut: async (deps, orderNumber, { reason }) => {
      await retryGatewayCalls(deps, orderNumber, reason, RETRY_WAIT_MS);
      return 'retry';
    },
  },
  recover: {
    title: 'Recover',
    button: 'Compare the order with its workflow',
    permission: 'order.recover',
    fits: ({ order }) => !isFinal(order.status),
    fields: () => [],
    carryOut: async (deps, orderNumber) => {
      await recoverForOperator(deps, orderNumber);
      return 'recover';
    },
  },
  dispute: {
    title: 'Raise a dispute for the buyer',
    button: 'Raise the dispute',
    permission: 'dispute.raise',
    fits: ({ order }) => transitionOf(order, 'dispute') !== undefined,
    fields: () => [reasonField("The buyer's reason, 10 to 2000 characters.", { maxLength: 2000 })],
    carryOut: async (deps, orderNumber, { reason }) => {
      await raiseDisputeForBuyer(deps, orderNumber, reason, DISPUTES_PER_DAY[deps.role]);
      return 'dispute';
    },
  },
  decide: {
    title: 'Decide the dispute',
    button: 'Decide',
    permission: 'dispute.decide',
    fits: ({ order }) => transitionOf(order, 'decideForBuyer') !== undefined,
    fields: () => [
      choice({
        name: 'winner',
        label: 'Decide for',
        required: true,
        placeholder: 'Choose',
        choices: { merchant: 'the merchant', buyer: 'the buyer, who is refunded' },
      }),
      sharedReason(),
    ],
    confirmation: ({ sql }, orderNumber, { winner }) =>
      consequenceOfDecision(sql, rupeesText, orderNumber, winnerOf(winner)),
    proposed: {
      kind: 'dispute.decide',
      parametersOf: ({ winner }) => ({ winner: winnerOf(winner) }),
    },
    carryOut: async (deps, orderNumber, { winner, reason }) => {
      await decideDispute(deps, orderNumber, { winner: winnerOf(winner), reason });
      return 'decide';
    },
  },
  refund: {
    title: 'Refund for the merchant',
    button: 'Refund the buyer',
    permission: 'order.refund',
    fits: (state) => !state.canMerchantRefund && transitionOf(state.order, 'refund') !== undefined,
    fields: () => [timelineReason()],
    confirmation: ({ sql }, orderNumber) => consequenceOfRefund(sql, rupeesText, orderNumber),
    proposed: { kind: 'order.refund', parametersOf: () => ({}) },
    carryOut: async (deps, orderNumber, { reason }) => {
      await refundForMerchant(deps, orderNumber, reason);
      return 'refund';
    },
  },
  settle: {
    title: 'Settle outside the gateway',
    button: 'Record the settlement',
    permission: 'order.settle',
    fits: ({ order, view }) =>
      (transitionOf(order, 'settleRefunded') !== undefined &&
        (order.pendingOperation !== null || view.reversals.length > 0)) ||
      view.payments.some(
        ({ surplusReason, refundedAt }) => surplusReason !== null && refundedAt === null,
      ),
    fields: () => [
      choice({
        name: 'outcome',
        label: 'Where the money went',
        choices: {
          '': 'as its pending operation says',
          released: 'to the merchant: COMPLETED',
          refunded: 'back to the buyer: REFUNDED',
        },
      }),
      textField({
        name: 'reference',
        label: 'Reference of the bank transfer',
        hint: 'Such as its UTR, if there was one.',
        maxLength: 200,
      }),
      timelineReason(),
      h(NotChecked, null),
    ],
    confirmation: async ({ sql }, orderNumber, { outcome, notChecked }) => {
      const asked = { outcome: outcomeOf(outcome) };
      const found = await consequenceOfSettlement(sql, rupeesText, orderNumber, asked);
      const { sentence } = found;
      return { ...found, sentence: notChecked === 'on' ? `${sentence} ${NOT_CHECKED}` : sentence };
    },
    proposed: {
      kind: 'order.settle',
      parametersOf: ({ outcome, reference, notChecked, surplus }) => ({
        outcome: outcomeOf(outcome) ?? null,
        reference: reference.trim() === '' ? null : reference.trim(),
        notChecked: notChecked === 'on',
        surplus: surplus === '' ? null : surplus,
      }),
    },
  },
} as const satisfies Record<string, OrderAction>;

export type ActionName = keyof typeof ORDER_ACTIONS;

function winnerOf(text: string): 'merchant' | 'buyer' {
  if (text === 'merchant' || text === 'buyer') return text;
  throw new DomainError('BAD_REQUEST', 'Choose for whom the dispute is decided');
}

function outcomeOf(text: string): 'released' | 'refunded' | undefined {
  return text === 'released' || text === 'refunded' ? text : undefined;
}
