/** In basis points: "Payment Pricing Plan" (payments/route/transfer-fees-example), payments/route/pricing. */
const FEE_BASIS_POINTS = { payment: 200, transfer: 25 };
/** GST on fees. */
const TAX_PERCENT = 18;

/** A fee in paise. It includes its tax, as in Razorpay's payment entity (api/payments/entity). */
interface Fee {
  feePaise: number;
  taxPaise: number;
}

/**
 * The fee of a captured payment, or of a transfer to a linked account. Rounded up, as in the samples: 1 paisa
 * for a transfer of 100 (api/payments/route/fetch-transfers-payment).
 */
export function feeOf(what: keyof typeof FEE_BASIS_POINTS, amountPaise: number): Fee {
  const basisPoints = FEE_BASIS_POINTS[what];
  const feePaise = Math.ceil((amountPaise * basisPoints * (100 + TAX_PERCENT)) / 1_000_000);
  return { feePaise, taxPaise: Math.round((amountPaise * basisPoints * TAX_PERCENT) / 1_000_000) };
}

/** No fee, as for payments in Razorpay's samples of QR codes. */
export const NO_FEE: Fee = { feePaise: 0, taxPaise: 0 };
