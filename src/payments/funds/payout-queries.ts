import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import type { TransferPayout } from '../gateway/gateway-objects.ts';

/** Records the payout that settled a released transfer. The first recorded payout is kept. */
export async function writePayout(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  { transferId, payoutId, utr }: TransferPayout & { utr: string },
): Promise<void> {
  await sql`
    INSERT INTO transfer_payouts
      (release_id, order_number, merchant_id, environment, payout_id, utr)
    SELECT transfer_id, order_number, merchant_id, environment, ${payoutId}, ${utr}
    FROM shared.ledger_transfers
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND operation = 'release' AND movement_id = ${transferId}
    ON CONFLICT (release_id) DO NOTHING`;
}
