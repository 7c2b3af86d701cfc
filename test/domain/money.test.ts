import { describe, expect, test } from 'vitest';
import { paiseFromRupees, rupeesFromPaise } from '../../src/domain/index.ts';
import { createOrderSchema } from '../../src/orders/schemas.ts';
import { anOrder } from '../support/api-client.ts';

const MIN_PAISE = 500;
const MAX_PAISE = 1_000_000;

/** The violation that POST /orders reports for an amount in the JSON text, if any. */
function violationOf(amountText: string): string | undefined {
  const body = { ...anOrder(), amount: JSON.parse(amountText) as unknown };
  const parsed = createOrderSchema.safeParse(body);
  return parsed.success ? undefined : parsed.error.issues[0]?.message;
}

/** Rupees formatted from paise, without arithmetic on fractions. */
function written(paise: number): string {
  const digits = String(paise).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

describe('every amount that an order may have', () => {
  test('is the same number of paise after a round trip through rupees and JSON', () => {
    const wrong: number[] = [];
    for (let paise = MIN_PAISE; paise <= MAX_PAISE; paise += 1) {
      const wire = JSON.stringify(rupeesFromPaise(paise));
      const back = paiseFromRupees(JSON.parse(wire) as number);
      if (back !== paise || Number(wire) !== Number(written(paise))) wrong.push(paise);
    }
    expect(wrong).toEqual([]);
  });

  test('is parsed correctly when written with two decimals', () => {
    const wrong: number[] = [];
    for (let paise = MIN_PAISE; paise <= MAX_PAISE; paise += 1) {
      if (paiseFromRupees(JSON.parse(written(paise)) as number) !== paise) wrong.push(paise);
    }
    expect(wrong).toEqual([]);
  });

  test('never has more than two decimals in JSON', () => {
    const wrong: number[] = [];
    for (let paise = MIN_PAISE; paise <= MAX_PAISE; paise += 1) {
      if (!/^\d+(\.\d{1,2})?$/.test(JSON.stringify(rupeesFromPaise(paise)))) wrong.push(paise);
    }
    expect(wrong).toEqual([]);
  });
});

describe('the boundaries of an amount', () => {
  test.each([
    ['5', 500],
    ['5.0', 500],
    ['5.00', 500],
    ['5.000', 500],
    ['5.01', 501],
    ['0.5e1', 500],
    ['1e3', 100_000],
    ['1E+3', 100_000],
    ['10.1', 1010],
    ['19.99', 1999],
    ['1.15e1', 1150],
    ['4096.35', 409_635],
    ['8.41', 841],
    ['9999.99', 999_999],
    ['10000', 1_000_000],
    ['10000.00', 1_000_000],
    ['1e4', 1_000_000],
  ])('%s is taken, as %i paise', (text, paise) => {
    expect(violationOf(text)).toBeUndefined();
    expect(paiseFromRupees(JSON.parse(text) as number)).toBe(paise);
  });

  test.each(['4.99', '4.999', '0', '-0', '-5', '-1e3', '0.05', '1e-7'])(
    '%s is too little: "must be greater than or equal to 5.0"',
    (text) => expect(violationOf(text)).toBe('must be greater than or equal to 5.0'),
  );

  test.each(['10000.01', '10000.001', '1e5', '1e308'])('%s is too much', (text) =>
    expect(violationOf(text)).toBe('must be less than or equal to 10000.0'),
  );

  test.each(['5.001', '5.005', '9.999', '9999.999', '100.0001', '7.0000001', '1.0005e1'])(
    '%s has more than two decimals',
    (text) => {
      expect(violationOf(text)).toBe('must have at most two decimals');
      expect(paiseFromRupees(JSON.parse(text) as number)).toBeUndefined();
    },
  );

  test.each(['"5.00"', '"abc"', 'true', '[]', '[5]', '{}'])('%s is no number', (text) =>
    expect(violationOf(text)).toBe('must be a number'),
  );

  test('null gets the violation message of the amount', () =>
    expect(violationOf('null')).toBe('must be greater than or equal to 5.0'));

  test('a missing amount gets the violation message of the amount', () => {
    const { amount: _, ...body } = anOrder();
    expect(createOrderSchema.safeParse(body).error?.issues[0]?.message).toBe(
      'must be greater than or equal to 5.0',
    );
  });
});
