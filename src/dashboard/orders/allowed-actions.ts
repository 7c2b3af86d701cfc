import type { OrderAction, OrderActionId } from '../../orders/public.ts';
import type { MerchantViewer } from '../viewer.ts';

/** The answers to a dispute, which a suspended merchant can still give here. Source: the contract's "States". */
const DISPUTE_ANSWERS: readonly string[] = [
  'submitEvidence',
  'resolveDispute',
  'acceptDispute',
] satisfies OrderActionId[];

/** The actions with which a merchant returns the buyer's money. */
const REFUNDS: readonly string[] = ['refundOrder', 'acceptDispute'] satisfies OrderActionId[];

/** Whether an action returns the buyer's money. */
export const returnsMoney = (actionId: string): boolean => REFUNDS.includes(actionId);

/** Whether the merchant's status allows its users the action. */
export function mayAct({ merchantStatus }: MerchantViewer, actionId: string): boolean {
  if (merchantStatus === 'SUSPENDED') return DISPUTE_ANSWERS.includes(actionId);
  return merchantStatus === 'APPROVED';
}

/** The actions that the merchant's status allows its users. */
export function allowedActions(viewer: MerchantViewer, actions: OrderAction[]): OrderAction[] {
  return actions.filter(({ id }) => mayAct(viewer, id));
}
