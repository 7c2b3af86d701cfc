import { h } from 'preact';
import type { Sql } from '../../db/client.ts';
import type { NoticeDeps } from '../../merchants/public.ts';
import type { MerchantOrders, OrderRow } from '../../orders/public.ts';
import { pagesOf } from '../page.ts';
import { moment, money } from '../view/parts.ts';
import type { MerchantViewer } from '../viewer.ts';
import { pathOf } from '../viewer.ts';
import type { OrderAction, OrderActionId, OrderActions } from './actions.ts';
import type { MerchantCircumstances, SentencePart } from './waiting.ts';
import { merchantSentence } from './waiting.ts';

export const ordersPage = pagesOf<OrderPagesDeps, 'merchant'>('merchant');

export interface OrderPagesDeps {
  sql: Sql;
  orders: MerchantOrders;
  actions: OrderActions;
  /** A refund of an order above this amount asks again for password and second factor. */
  refundAsksAbovePaise: number;
  /** For mails to the merchant about such a refund. */
  notices: NoticeDeps;
  paymentUrlOf(order: OrderRow): string;
}

export function orderPath({ environment, orderNumber }: OrderRow, below = ''): string {
  return pathOf({ environment }, `/orders/${encodeURIComponent(orderNumber)}${below}`);
}

/** The answers to a dispute, which a suspended merchant can still give here. Source: the contract's "States". */
const DISPUTE_ANSWERS: readonly string[] = [
  'submitEvidence',
  'resolveDispute',
  'acceptDispute',
] satisfies OrderActionId[];

/** The actions with which a merchant returns the buyer's money. */
const REFUNDS: readonly string[] = ['refundOrder', 'acceptDispute'] satisfies OrderActionId[];

export const returnsMoney = (actionId: string): boolean => REFUNDS.includes(actionId);

/** Whether the merchant's status allows its users the action. */
export function mayAct({ merchantStatus }: MerchantViewer, actionId: string): boolean {
  if (merchantStatus === 'SUSPENDED') return DISPUTE_ANSWERS.includes(actionId);
  return merchantStatus === 'APPROVED';
}

export function allowedActions(viewer: MerchantViewer, actions: OrderAction[]): OrderAction[] {
  return actions.filter(({ id }) => mayAct(viewer, id));
}

export function waitingSentence(order: OrderRow, circumstances: MerchantCircumstances) {
  const parts = merchantSentence(order, circumstances);
  return h('p', { class: 'lead' }, ...parts.map((part) => nodeOf(part, circumstances.now)));
}

function nodeOf(part: SentencePart, now: Date) {
  if (typeof part === 'string') return part;
  return 'at' in part ? moment(part.at, now) : money(part.amountPaise);
}
