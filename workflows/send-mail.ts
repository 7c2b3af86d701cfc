import { sendMail as sendByActivity } from './activities.ts';

/** Sends one mail. The activity has the mail's content: Temporal stores only its id. */
export async function sendMail(input: { mailId: string }): Promise<void> {
  await sendByActivity(input);
}
