import { expect, test } from 'vitest';
import type { Settlement } from '../../../src/domain/index.ts';
import { contradictionOf } from '../../../src/payments/settlement/settlement-rule.ts';

const NONE = null;
const TO_BUYER = 'refunded or charged back at the gateway';
const TO_MERCHANT = 'released';
const TWICE = 'more is paid than the 100 captured';

/** 100 paise were captured: what is left, and what the buyer and the merchant have at the gateway. */
const CASES: [string, Settlement, boolean, [number, number, number], string | null][] = [
  ['nothing has moved', 'released', true, [100, 0, 0], NONE],
  ['nothing has moved', 'refunded', true, [100, 0, 0], NONE],
  ['a refund is made or pending', 'released', false, [100, 100, 0], TO_BUYER],
  ['a part is refunded and booked', 'released', true, [60, 40, 0], NONE],
  ['a part is refunded and booked, another is pending', 'released', false, [60, 50, 0], TO_BUYER],
  ['all is refunded and booked', 'released', true, [0, 100, 0], NONE],
  ['the transfer is released', 'released', false, [100, 0, 100], NONE],
  ['the transfer is released, and the bank pays too', 'released', true, [100, 0, 100], TWICE],
  ['the transfer is released', 'refunded', false, [100, 0, 100], TO_MERCHANT],
  ['the transfer is released, and all charged back', 'refunded', false, [0, 100, 100], TO_MERCHANT],
  ['the transfer is released, and all charged back', 'released', false, [0, 100, 100], NONE],
  ['a refund is made or pending', 'refunded', false, [100, 100, 0], NONE],
  ['a refund is made or pending, and the bank pays too', 'refunded', true, [100, 100, 0], TWICE],
  ['a part is refunded and booked, the bank pays the rest', 'refunded', true, [60, 40, 0], NONE],
  ['refunded and charged back, nothing is left', 'released', true, [0, 140, 0], NONE],
];

test.for(CASES)(
  '%s: settled as %s, with a bank transfer: %s',
  ([_what, outcome, hasReference, [restPaise, toBuyerPaise, toMerchantPaise], expected]) => {
    const settled = { outcome, capturedPaise: 100, restPaise, hasReference };
    const contradiction = contradictionOf(settled, { toBuyerPaise, toMerchantPaise });
    if (expected === NONE) expect(contradiction).toBeNull();
    else expect(contradiction).toContain(expected);
  },
);
