import { platformBalancePaise } from './world.ts';
import type { World } from './world.ts';

const sumOf = (amounts: readonly number[]) => amounts.reduce((sum, amount) => sum + amount, 0);

/**
 * Where all the money is, counted from every entity. `isBalanced` says that what came in is what
 * went back, what merchants have, and what the platform has; and that its balance was kept right.
 */
export function totals(world: World) {
  const payments = world.book.all('payments').map(({ entity }) => entity);
  const refunds = world.book.all('refunds').map(({ entity }) => entity);
  const transfers = world.book.all('transfers').map(({ entity }) => entity);
  const disputes = world.book.all('disputes').map(({ entity }) => entity);
  const held = transfers.filter(({ on_hold }) => on_hold);
  const withMerchants = (list: typeof transfers) =>
    sumOf(list.map(({ amount, amount_reversed }) => amount - amount_reversed));
  const capturedPaise = sumOf(payments.filter((one) => one.captured).map(({ amount }) => amount));
  const refundedPaise = sumOf(
    refunds.filter(({ status }) => status !== 'failed').map(({ amount }) => amount),
  );
  const chargedBackPaise = sumOf(disputes.map(({ amount_deducted: paise }) => paise));
  const heldPaise = withMerchants(held);
  const releasedPaise = withMerchants(transfers) - heldPaise;
  const platformPaise = platformBalancePaise(world);
  const goneOrHere = refundedPaise + chargedBackPaise + heldPaise + releasedPaise + platformPaise;
  const isBalanced = capturedPaise === goneOrHere;
  return {
    capturedPaise,
    refundedPaise,
    chargedBackPaise,
    heldPaise,
    releasedPaise,
    platformPaise,
    refunds: refunds.length,
    transfers: transfers.length,
    isBalanced,
  };
}
