import { askGateway, simulator } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import type { System } from './system.ts';

/**
 * Calls a control route of the simulator, and repeats the call while it accepts no connections.
 *
 * @returns undefined if it refuses: the QR code is closed, or nothing is left to refund
 */
export async function atGateway<Answer>(
  system: Pick<System, 'config'>,
  path: string,
  body: object = {},
  method: 'POST' | 'PATCH' | 'DELETE' = 'POST',
): Promise<Answer | undefined> {
  let answer: Answer | undefined;
  await until(async () => {
    try {
      answer = await simulator<Answer>(system, method, path, body);
      return true;
    } catch (error) {
      return error instanceof Error && /: 4\d\d /.test(error.message);
    }
  });
  return answer;
}

/** A refund. */
interface AtGateway {
  id: string;
  status: string;
  notes: { idempotency_key?: string };
}

/** The refunds of a payment, newest first; repeated until the gateway responds. */
export async function refundsAtGateway(
  system: Pick<System, 'config'>,
  gatewayPaymentId: string,
): Promise<AtGateway[]> {
  const path = `/v1/payments/${gatewayPaymentId}/refunds?count=100`;
  let refunds: AtGateway[] = [];
  await until(async () => {
    try {
      const { items } = await askGateway<{ items: AtGateway[] }>(system, 'GET', path);
      refunds = items;
      return true;
    } catch {
      return false;
    }
  });
  return refunds;
}
