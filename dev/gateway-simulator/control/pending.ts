import type { SimulatedGateway } from '../gateway.ts';

/** The ids of what control calls can end: pending refunds and transfers, and authorized payments. */
export function pendingIds({ store }: SimulatedGateway) {
  const idsOf = (table: 'refunds' | 'transfers' | 'payments', status: string) =>
    store.all(table).flatMap(({ entity }) => (entity.status === status ? [entity.id] : []));
  return {
    refunds: idsOf('refunds', 'pending'),
    transfers: idsOf('transfers', 'pending'),
    payments: idsOf('payments', 'authorized'),
  };
}
