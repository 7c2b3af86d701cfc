import { refundSurplus } from './activities.ts';

/** A workflow of its own, because the order that cannot take this capture may be over. */
export async function refundSurplusPayment(input: { gatewayPaymentId: string }): Promise<void> {
  await refundSurplus(input);
}
