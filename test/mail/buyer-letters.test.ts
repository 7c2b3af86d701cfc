import { expect, test } from 'vitest';
import type { Step } from '../../src/domain/index.ts';
import { renderLetter } from '../../src/mail/render-letter.ts';
import { buyerLetterOf, surplusLetter } from '../../src/orders/mails/buyer-letters.ts';
import type { SurplusReason } from '../../src/orders/mails/buyer-texts.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { LANGUAGES } from '../../src/pages/language.ts';
import { EXAMPLE_ROW } from '../dashboard/example-row.ts';

const AT_MS = Date.parse('2026-11-27T10:00:00Z');
const order = {
  ...EXAMPLE_ROW,
  merchantName: 'Asha Textiles',
  gatewayPaymentId: 'pay_1',
  paymentUtr: '432198765432',
  buyerPage: 'https://pay.example/pay/abc',
  merchantPage: 'https://pay.example/dashboard',
};

const step = (kind: Step['kind'], details: Step['details'] = null): Step => ({
  number: 3,
  kind,
  atMs: AT_MS,
  status: 'DELIVERED',
  pendingOperation: null,
  deadline: { kind: 'completion', atMs: AT_MS },
  disputeCount: 1,
  event: null,
  details,
});

const STEPS = [
  step('PAYMENT_SUCCESS'),
  step('DELIVERY_CONFIRMED'),
  step('DISPUTE_RAISED'),
  step('EVIDENCE_SUBMITTED'),
  step('DISPUTE_RESOLVED'),
  step('DISPUTE_RESOLVED', { for: 'merchant' }),
];
const REFUNDS = [
  'merchant_refund',
  'dispute_accepted',
  'dispute_decided_for_buyer',
  'dispute_not_resolved_in_time',
  'settled_by_operator',
] as const satisfies OrderRow['refundReason'][];
const SURPLUS: SurplusReason[] = ['wrong_amount', 'late_payment', 'already_paid'];

const lettersIn = (buyerLanguage: OrderRow['buyerLanguage']) => {
  const noticed = { ...order, buyerLanguage };
  const letter = (of: Step, changed: Partial<OrderRow> = {}) =>
    buyerLetterOf({ ...noticed, ...changed }, of, { isByOperator: false })!.letter;
  return [
    ...STEPS.map((of) => letter(of)),
    buyerLetterOf(noticed, step('DISPUTE_RAISED'), { isByOperator: true })!.letter,
    ...REFUNDS.map((refundReason) => letter(step('REFUND_PROCESSED'), { refundReason })),
    letter(step('REFUND_PROCESSED'), { reversedPaise: order.amountPaise }),
    ...SURPLUS.map((reason) =>
      surplusLetter(noticed, { gatewayPaymentId: 'pay_2', amountPaise: 100, reason }),
    ),
  ];
};

/** What stays in Latin letters: names, ids, links, the order's own text, and words that UPI apps write so. */
const LATIN =
  /https?:\S+|Asha Textiles|Blue kurta, size M|ORD\w+|pay_\w+|UTR|IST|[ap]m|Merchant Payments|help@pay\.example/g;

test.each(LANGUAGES)(
  'every letter to a buyer is whole in %s, and no two are the same',
  (language) => {
    const texts = lettersIn(language).map(
      (letter) => renderLetter(letter, 'help@pay.example').text,
    );
    expect(new Set(texts).size).toBe(texts.length);
    for (const text of texts) {
      expect(text).toContain(`https://pay.example/pay/abc?language=${language}`);
      expect(text).not.toMatch(/undefined|null|NaN|\[object|: \n/);
    }
  },
);

test('a letter in Hindi has no English', () => {
  for (const letter of lettersIn('hi')) {
    const { subject, text } = renderLetter(letter, 'help@pay.example');
    expect(`${subject}\n${text}`.replaceAll(LATIN, '')).not.toMatch(/[A-Za-z]/);
  }
});

test('a refund names what was not returned before', () => {
  const [kind, reversed] = [step('REFUND_PROCESSED'), { reversedPaise: 10_000 }];
  const letter = buyerLetterOf({ ...order, ...reversed }, kind, { isByOperator: false })?.letter;
  expect(letter?.subject).toBe('₹399.50 is on its way back to you');
});

test('a step of which the buyer need not know has no letter', () => {
  for (const kind of ['ORDER_CREATED', 'RELEASE_STARTED', 'REFUND_STARTED'] as const) {
    expect(buyerLetterOf(order, step(kind), { isByOperator: false })).toBeUndefined();
  }
});
