import type { ManualAttemptResult } from '../src/contracts/activities.ts';
import { attemptManually, sendMail as sendByActivity } from './activities.ts';

/** Makes one manual attempt of a delivery, even if a worker dies during it. */
export async function retryDelivery(input: { deliveryId: string }): Promise<ManualAttemptResult> {
  return attemptManually(input);
}

/** Sends one mail. The activity has the mail's content: Temporal stores only its id. */
export async function sendMail(input: { mailId: string }): Promise<void> {
  await sendByActivity(input);
}
