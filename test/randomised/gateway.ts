import type { SimulatorAccess } from '../../dev/load/simulator.ts';
import { refundsAtGateway, untilAnswered } from '../../dev/load/simulator.ts';
import { simulator } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import type { System } from './system.ts';

/** The simulator of a run, and the credentials of its API. */
export function simulatorOf({ config }: Pick<System, 'config'>): SimulatorAccess {
  const { baseUrl = '', keyId = '', keySecret = '' } = config.gateways.sandbox.razorpay ?? {};
  return { baseUrl, keyId, keySecret };
}

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

/** The refunds of a payment, newest first; repeated until the gateway responds. */
export const refundsOf = (system: Pick<System, 'config'>, gatewayPaymentId: string) =>
  untilAnswered(() => refundsAtGateway(simulatorOf(system), gatewayPaymentId));
