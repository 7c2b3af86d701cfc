import type { ManualAttemptResult } from '../src/contracts/activities.ts';
import { attemptManually } from './activities.ts';

/** A manual retry, which survives a crash: it ends when its one attempt has been made. */
export async function retryDelivery(input: { deliveryId: string }): Promise<ManualAttemptResult> {
  return attemptManually(input);
}
