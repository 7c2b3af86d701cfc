import type { ManualAttemptResult } from '../src/contracts/activities.ts';
import { attemptManually } from './activities.ts';

/** Makes one manual attempt of a delivery, even if a worker dies during it. */
export async function retryDelivery(input: { deliveryId: string }): Promise<ManualAttemptResult> {
  return attemptManually(input);
}
