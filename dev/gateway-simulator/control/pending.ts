import type { SimulatedGateway } from '../gateway.ts';

const idsOf = (entities: readonly { id: string; status: string }[], wanted: string) =>
  entities.filter(({ status }) => status === wanted).map(({ id }) => id);

/** The ids of what control calls can end: pending refunds and transfers, and authorized payments. */
export function pendingIds({ store }: SimulatedGateway) {
  return {
    refunds: idsOf(
      store.all('refunds').map(({ entity }) => entity),
      'pending',
    ),
    transfers: idsOf(
      store.all('transfers').map(({ entity }) => entity),
      'pending',
    ),
    payments: idsOf(
      store.all('payments').map(({ entity }) => entity),
      'authorized',
    ),
  };
}
