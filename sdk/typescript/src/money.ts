const RUPEES = /^(\d{1,13})(?:\.(\d{1,2})0*)?$/;

/**
 * The paise of an amount in rupees, exactly: `toPaise(499.5)` and `toPaise('499.50')` are 49950.
 *
 * @throws RangeError for a negative amount, more than two decimals or no number
 */
export function toPaise(rupees: number | string): number {
  const match = RUPEES.exec(String(rupees));
  if (!match) throw new RangeError(`${rupees} is no amount in rupees with at most two decimals`);
  const [, whole = '', decimals = ''] = match;
  const paise = Number(whole + decimals.padEnd(2, '0'));
  if (!Number.isSafeInteger(paise)) throw new RangeError(`${rupees} is too large`);
  return paise;
}

/** The rupees of an amount in paise, with two decimals: `formatPaise(49950)` is '499.50'. */
export function formatPaise(paise: number): string {
  if (!Number.isSafeInteger(paise) || paise < 0)
    throw new RangeError(`${paise} is no amount in paise`);
  const digits = String(paise).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
