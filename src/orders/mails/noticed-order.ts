import type { OrderStatus } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';

/** An order, and what its mails contain that the row does not have. */
export interface NoticedOrder extends Omit<OrderRow, 'gateway'> {
  merchantName: string;
  /** The addresses of the order's pages. */
  buyerPage: string;
  merchantPage: string;
}

/** What a mail about a step depends on beside the order. */
export interface StepCircumstances {
  /** The order's status before the step. */
  before: OrderStatus;
  /** Whether it is the merchant's first payment in this environment. */
  isFirstPayment: boolean;
  /** Whether an operator gave the command. */
  isByOperator: boolean;
}
