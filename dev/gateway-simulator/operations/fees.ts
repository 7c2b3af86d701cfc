/** The fee of a payment, in basis points: "Payment Pricing Plan" (payments/route/transfer-fees-example). */
const PAYMENT_FEE_BASIS_POINTS = 200;
/** The fee of a transfer, in basis points (payments/route/pricing). */
const TRANSFER_FEE_BASIS_POINTS = 25;
/** GST on fees. */
const TAX_PERCENT = 18;

/** A fee in paise. It includes its tax, as in Razorpay's payment entity (api/payments/entity). */
export interface Fee {
  feePaise: number;
  taxPaise: number;
}

/** Rounded up, as in the samples: 1 paisa for a transfer of 100 (api/payments/route/fetch-transfers-payment). */
function feeOf(amountPaise: number, basisPoints: number): Fee {
  const feePaise = Math.ceil((amountPaise * basisPoints * (100 + TAX_PERCENT)) / 1_000_000);
  return { feePaise, taxPaise: Math.round((amountPaise * basisPoints * TAX_PERCENT) / 1_000_000) };
}

/** No fee, as for payments in Razorpay's samples of QR codes. */
export const NO_FEE: Fee = { feePaise: 0, taxPaise: 0 };
/** The fee of a captured payment. */
export const feeOfPayment = (amountPaise: number): Fee =>
  feeOf(amountPaise, PAYMENT_FEE_BASIS_POINTS);
/** The fee of a transfer to a linked account. */
export const feeOfTransfer = (amountPaise: number): Fee =>
  feeOf(amountPaise, TRANSFER_FEE_BASIS_POINTS);
