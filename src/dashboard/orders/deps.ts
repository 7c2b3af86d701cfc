import type { Environment } from '../../domain/index.ts';
import type { NoticeDeps } from '../../merchants/public.ts';
import type { MoneyDay, RunningLine } from '../../ledger/public.ts';
import type { ApplicationState, FirstSteps } from '../../onboarding/public.ts';
import type { MerchantOrders, OrderActions, OrderOwner, OrderRow } from '../../orders/public.ts';
import { pathOf } from '../viewer.ts';

/** Something that a merchant has to do, with the page on which to do it. */
export interface AttentionItem {
  text: string;
  to: string;
  /** Until when; those without a deadline come after those with one. */
  until: Date | null;
  /** Something does not work. */
  isFault?: boolean;
}

/** What the pages of a merchant's orders call. */
export interface OrderPagesDeps {
  orders: MerchantOrders;
  actions: OrderActions;
  /** A refund of an order above this amount asks again for password and second factor. */
  refundAsksAbovePaise: number;
  /** Of mails to the merchant about such a refund. */
  notices: NoticeDeps;
  /** The lines of one order, each with the balances after it. */
  readLedger(orderNumber: string): Promise<RunningLine[]>;
  /** The gateway does not accept the transfer of the order's money to the merchant's account. */
  isHoldRefused(orderNumber: string): Promise<boolean>;
  /** Every day that had any, the oldest first. */
  readMoneyDays(owner: OrderOwner): Promise<MoneyDay[]>;
  /** The URL of the buyer's page. */
  paymentUrlOf(order: OrderRow): string;
  readApplicationState(merchantId: string): Promise<ApplicationState>;
  readFirstSteps(owner: OrderOwner): Promise<FirstSteps>;
  /** What other features need of a merchant, such as failing webhooks. */
  moreAttention: readonly ((
    merchantId: string,
    environment: Environment,
  ) => Promise<AttentionItem[]>)[];
}

/** The path of the page of one order. */
export function orderPath({ environment, orderNumber }: OrderRow, below = ''): string {
  return pathOf({ environment }, `/orders/${encodeURIComponent(orderNumber)}${below}`);
}
