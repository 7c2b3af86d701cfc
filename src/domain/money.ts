/** Amounts are INR in integer paise; rupees appear only in requests and responses. */

/** Rupees as a JSON number, exact for every amount up to 10^13 paise. */
export function rupeesFromPaise(amountPaise: number): number {
  return amountPaise / 100;
}

/**
 * Paise of an amount given in rupees.
 *
 * @returns integer paise, or `undefined` when the amount has more than two decimals.
 */
export function paiseFromRupees(rupees: number): number | undefined {
  const amountPaise = Math.round(rupees * 100);
  return amountPaise / 100 === rupees ? amountPaise : undefined;
}
