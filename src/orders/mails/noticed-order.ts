import type { OrderStatus } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';

/** An order, with the values of its mails that its row does not have. */
export interface NoticedOrder extends Omit<OrderRow, 'gateway'> {
  merchantName: string;
  /** The URL of the order's page for buyers. */
  buyerPage: string;
  merchantPage: string;
}

/** The facts besides the order that decide the mail about a step. */
export interface StepCircumstances {
  before: OrderStatus;
  /** Whether it is the merchant's first payment in this environment. */
  isFirstPayment: boolean;
  /** True if an operator gave the command. */
  isByOperator: boolean;
}
