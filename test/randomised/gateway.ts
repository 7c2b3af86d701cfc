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

/** A refund or a transfer; the status of a transfer is in one of two fields. */
interface AtGateway {
  id: string;
  status?: string;
  transfer_status?: string;
  notes: { idempotency_key?: string };
}

/** Its status, in whichever field it is. */
export const statusOf = ({ status, transfer_status: ofTransfer }: AtGateway) =>
  status ?? ofTransfer;

/** The refunds or transfers of a payment, newest first; repeated until the gateway responds. */
export async function madeOf(
  system: Pick<System, 'config'>,
  gatewayPaymentId: string,
  what: 'refunds' | 'transfers',
): Promise<AtGateway[]> {
  const path = `/v1/payments/${gatewayPaymentId}/${what}${what === 'refunds' ? '?count=100' : ''}`;
  let made: AtGateway[] = [];
  await until(async () => {
    try {
      made = (await askGateway<{ items: AtGateway[] }>(system, 'GET', path)).items;
      return true;
    } catch {
      return false;
    }
  });
  return made;
}
