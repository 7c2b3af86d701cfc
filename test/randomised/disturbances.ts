import { atGateway, madeOf, statusOf } from './gateway.ts';
import type { System } from './system.ts';

/** The side that is restored from an earlier copy: the service's database, or Temporal's. */
export type Side = 'postgres' | 'temporal';
/** A process of the service. */
export type Part = 'worker' | 'api';

/** A fault of the service or of its environment. */
export type Disturbance =
  | {
      kind: 'callbackTrouble';
      dropProbability: number;
      duplicateProbability: number;
      mostDelayMs: number;
    }
  | { kind: 'gatewayOutage'; durationMs: number }
  | { kind: 'gatewayFault'; fault: 'reset' | 'error' | 'drop_answer'; probability: number }
  | { kind: 'gatewayMended' }
  | { kind: 'suspended' | 'activated'; merchant: number }
  /** The bank takes its time: refunds are pending until they end, some of them as failed. */
  | { kind: 'refundsPend' | 'refundsEnd' }
  /** Transfers to linked accounts are pending until they end, some of them as failed. */
  | { kind: 'transfersPend' | 'transfersEnd' }
  /** The gateway answers in the other forms that its documents show. */
  | { kind: 'otherForms' | 'usualForms' }
  | { kind: 'endpointFault'; merchant: number; fault: 'answers 500' | 'hangs' }
  | { kind: 'endpointMended'; merchant: number }
  | { kind: 'kill'; part: Part }
  | { kind: 'copy' | 'restore'; side: Side };

/** Starts a disturbance, and returns when everything that it killed or restored runs again. */
export async function disturb(system: System, disturbance: Disturbance): Promise<void> {
  switch (disturbance.kind) {
    case 'callbackTrouble': {
      const { dropProbability, duplicateProbability, mostDelayMs } = disturbance;
      const delayMs = { min: 0, max: mostDelayMs };
      const settings = { dropProbability, duplicateProbability, delayMs };
      return void (await atGateway(system, '/callbacks', settings, 'PATCH'));
    }
    case 'gatewayOutage': {
      const { durationMs } = disturbance;
      return void (await atGateway(system, '/outage', { durationMs }));
    }
    case 'gatewayFault': {
      const { fault, probability } = disturbance;
      return void (await atGateway(system, '/faults', { kind: fault, probability }));
    }
    case 'gatewayMended':
      return void (await atGateway(system, '/faults', {}, 'DELETE'));
    case 'endpointFault':
      return system.endpoints[disturbance.merchant]!.fail(disturbance.fault);
    case 'endpointMended':
      return system.endpoints[disturbance.merchant]!.recover();
    case 'suspended':
    case 'activated':
      return system.setActive(disturbance.merchant, disturbance.kind === 'activated');
    case 'refundsPend':
      return setSwitches(system, { refundsStartPending: true });
    case 'refundsEnd':
      return endRefunds(system);
    case 'transfersPend':
      return setSwitches(system, { transfersStay: 'pending' });
    case 'transfersEnd':
      return endTransfers(system);
    case 'otherForms':
      return setSwitches(system, OTHER_FORMS);
    case 'usualForms':
      return setSwitches(system, usual(OTHER_FORMS));
    case 'kill':
      return system.processes.killAndStart(disturbance.part);
    case 'copy':
      return system.copy(disturbance.side);
    case 'restore':
      return system.restore(disturbance.side);
  }
}

/** Refunds are processed at once from now on, and those that are pending end: every third one fails. */
async function endRefunds(system: System): Promise<void> {
  await setSwitches(system, { refundsStartPending: null });
  const payments = await system.sql<{ gatewayPaymentId: string }[]>`
    SELECT gateway_payment_id FROM payments ORDER BY gateway_payment_id`;
  let ended = 0;
  for (const { gatewayPaymentId } of payments) {
    const refunds = await madeOf(system, gatewayPaymentId, 'refunds');
    for (const { id } of refunds.filter(({ status }) => status === 'pending')) {
      const status = (ended += 1) % 3 === 0 ? 'failed' : 'processed';
      await atGateway(system, `/refunds/${id}/end`, { status });
    }
  }
}

/** The switches of the simulator: see dev/gateway-simulator/switches.ts. */
const OTHER_FORMS = {
  paymentNotes: 'none',
  acquirerData: 'empty_list',
  transferStatusField: 'transfer_status',
  unknownQuery: 'refused',
  refundsInProgress: 1,
};

const usual = (switches: object) =>
  Object.fromEntries(Object.keys(switches).map((name) => [name, null]));

async function setSwitches(system: System, switches: object): Promise<void> {
  await atGateway(system, '/switches/all', switches, 'PATCH');
}

/** Transfers are processed at once from now on, and those that are pending end: every third one fails. */
async function endTransfers(system: System): Promise<void> {
  await setSwitches(system, { transfersStay: null });
  const payments = await system.sql<{ gatewayPaymentId: string }[]>`
    SELECT gateway_payment_id FROM payments ORDER BY gateway_payment_id`;
  let ended = 0;
  for (const { gatewayPaymentId } of payments) {
    const transfers = await madeOf(system, gatewayPaymentId, 'transfers');
    for (const { id } of transfers.filter((one) => statusOf(one) === 'pending')) {
      const status = (ended += 1) % 3 === 0 ? 'failed' : 'processed';
      await atGateway(system, `/transfers/${id}/end`, { status });
    }
  }
}

/** Ends every remaining fault. */
export async function endDisturbances(system: System): Promise<void> {
  await atGateway(system, '/faults', {}, 'DELETE');
  const undisturbed = { dropProbability: 0, duplicateProbability: 0, delayMs: { min: 0, max: 0 } };
  await atGateway(system, '/callbacks', undisturbed, 'PATCH');
  for (const merchant of system.merchants.keys()) await system.setActive(merchant, true);
  await setSwitches(system, usual(OTHER_FORMS));
  await endRefunds(system);
  await endTransfers(system);
  for (const endpoint of system.endpoints) endpoint.recover();
}
