import type { Sql } from '../../db/client.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { OrderMail, SurplusReason, WrittenMail } from '../../orders/public.ts';
import { mailRows } from '../../orders/public.ts';
import type { OrderGateway } from '../gateway/gateways.ts';

export interface SurplusRow extends OrderGateway, PaymentRef {
  orderNumber: string;
  amountPaise: number;
  /** The part of it that was not reversed at the gateway itself. */
  leftPaise: number;
  reason: SurplusReason;
  processedAt: Date | null;
  /** The amount that an operator recorded as refunded outside the gateway. Null if none did. */
  settledPaise: number | null;
}

/**
 * Claims a capture for its refund if its order cannot take it: see the SQL function `claim_surplus`.
 *
 * @returns undefined when the capture is not surplus
 */
export async function claimSurplus(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<SurplusRow | undefined> {
  const [row] = await sql<SurplusRow[]>`
    SELECT s.*, p.environment, s.amount_paise - reversed_of(s.gateway, s.gateway_payment_id) AS left_paise
    FROM claim_surplus(${gateway}, ${gatewayPaymentId}) s JOIN payments p USING (gateway, gateway_payment_id)`;
  return row;
}

/**
 * Records that a surplus capture is refunded. A CANCELLED order shows its earliest refund.
 *
 * @param mails the mails to the buyer, written by the same statement
 * @returns the mails that this call wrote
 */
export async function finishSurplus(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  mails: readonly OrderMail[] = [],
): Promise<WrittenMail[]> {
  const [row] = await sql<[{ mails: WrittenMail[] | null }]>`
    SELECT finish_surplus(${gateway}, ${gatewayPaymentId}, ${sql.json(mailRows(mails))}) AS mails`;
  return row.mails ?? [];
}
