import { z } from 'zod';
import { rupeesFromPaise } from '../domain/index.ts';
import type { StatementLine } from './statement.ts';
import { LINE_TYPES } from './statement.ts';

const dateTime = z.iso.datetime();

/** One line of a statement. Its fields are also the columns of the CSV. */
export const statementLineSchema = z
  .object({
    type: z.enum(LINE_TYPES).meta({
      description:
        '`reversed` is a refund that was made at the gateway itself, `charged_back` a chargeback that was lost; ' +
        '`covered` takes one back, because a refund or transfer has taken its money, too; ' +
        '`refund_failed` takes a `refunded` back, and the refund is made again. `paid_out` tells, days after a ' +
        '`released`, with which payout it reached your bank, and changes no balance. More may be added.',
    }),
    amount: z.number().meta({ description: 'Rupees', example: 499.5 }),
    credit: z.number().meta({
      description: 'Rupees that are added to what is held for you',
      example: 499.5,
    }),
    debit: z.number().meta({
      description: 'Rupees that are taken from it; 0 also for what had been released before',
      example: 0,
    }),
    booked_at: dateTime.meta({ description: 'When the line was written: its day is that of this' }),
    happened_at: dateTime.meta({
      description: 'When it happened, which may be earlier; of `paid_out`, when it was learned',
    }),
    order_number: z.string(),
    merchant_order_id: z.string().nullable(),
    gateway_payment_id: z.string(),
    gateway_transfer_id: z
      .string()
      .nullable()
      .meta({ description: 'Of a release and its payout; null also where it is not known' }),
    gateway_refund_id: z.string().nullable().meta({ description: 'Of every kind of refund' }),
    gateway_chargeback_id: z.string().nullable(),
    utr: z.string().nullable().meta({
      description:
        'Of a payment: its reference at banks and UPI apps; null if not known. It may become known later',
    }),
    gateway_payout_id: z.string().nullable().meta({
      description: 'Of `paid_out`: the payout to your bank, which can contain many transfers',
    }),
    payout_utr: z.string().nullable().meta({
      description:
        'Of `paid_out`: the reference of the payout in the statement of your bank account',
    }),
  })
  .meta({ id: 'StatementLine' });
export type PresentedLine = z.infer<typeof statementLineSchema>;

export const LINE_FIELDS = Object.keys(statementLineSchema.shape);

export function presentLine(line: StatementLine): PresentedLine {
  return {
    type: line.type,
    amount: rupeesFromPaise(line.amountPaise),
    credit: rupeesFromPaise(Math.max(line.balanceChangePaise, 0)),
    debit: rupeesFromPaise(Math.max(-line.balanceChangePaise, 0)),
    booked_at: line.bookedAt.toISOString(),
    happened_at: line.at.toISOString(),
    order_number: line.orderNumber,
    merchant_order_id: line.merchantOrderId,
    gateway_payment_id: line.gatewayPaymentId,
    gateway_transfer_id: line.gatewayTransferId,
    gateway_refund_id: line.gatewayRefundId,
    gateway_chargeback_id: line.gatewayChargebackId,
    utr: line.utr,
    gateway_payout_id: line.gatewayPayoutId,
    payout_utr: line.payoutUtr,
  };
}
