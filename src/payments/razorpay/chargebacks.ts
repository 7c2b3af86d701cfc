import type { PaymentGateway } from '../gateway/gateway.ts';
import { valueOf } from './client.ts';
import type { RazorpayClient } from './client.ts';
import { listAll } from './list-all.ts';
import { presentChargeback } from './present.ts';
import { disputeSchema } from './schemas.ts';

const DISPUTES = '/v1/disputes';

/** Chargebacks, which Razorpay calls disputes (api/disputes). They are read-only here. */
export function createChargebacks(
  client: RazorpayClient,
): Pick<PaymentGateway, 'fetchChargeback' | 'listNewestChargebacks'> {
  return {
    async fetchChargeback(reversalId) {
      const path = `${DISPUTES}/${encodeURIComponent(reversalId)}`;
      const answer = await client.call({ method: 'GET', path }, disputeSchema);
      return presentChargeback(valueOf('fetchChargeback', answer));
    },

    async listNewestChargebacks() {
      // api/disputes/fetch-all documents only `count` of the parameters of other lists.
      const newest = { path: DISPUTES, query: { count: 100 }, isPaged: false };
      const source = { ...newest, mayLeaveOut: () => true };
      const disputes = await listAll(client, 'listNewestChargebacks', source, disputeSchema);
      return disputes.map(presentChargeback);
    },
  };
}
