import { describe, expect, test } from 'vitest';
import { GatewayNotUnderstood, moneyKey } from '../../../src/payments/gateway/gateway.ts';
import { transferSchema } from '../../../src/payments/razorpay/schemas.ts';
import { redacted, redactedForRecord } from '../../../src/payments/gateway/redaction.ts';
import { collection, gatewayThatAnswers } from './answering-gateway.ts';

const PAYMENT_ID = 'pay_QmT4x8LwZ2cVb7';
const SESSION_ID = 'qr_QmT4x8LwZ2cVb7';
const SESSION_PATH = `/v1/payments/qr_codes/${SESSION_ID}`;
const PAYMENTS = `GET ${SESSION_PATH}/payments`;
const TRANSFERS = `/v1/payments/${PAYMENT_ID}/transfers`;
const REFUNDS = `/v1/payments/${PAYMENT_ID}/refunds`;

const payment = (own: object = {}) => ({
  id: PAYMENT_ID,
  entity: 'payment',
  status: 'captured',
  amount: 49_950,
  currency: 'INR',
  captured: true,
  ...own,
});
const key = moneyKey(PAYMENT_ID, 'transfer');
const transfer = (own: object = {}) => ({
  id: 'trf_QmT5aBcDeFgHi1',
  entity: 'transfer',
  status: 'processed',
  amount: 49_950,
  on_hold: true,
  notes: { idempotency_key: key },
  ...own,
});
const refund = (own: object = {}) => ({
  id: 'rfnd_QmT5aBcDeFgHi1',
  entity: 'refund',
  payment_id: PAYMENT_ID,
  amount: 49_950,
  status: 'processed',
  notes: { idempotency_key: moneyKey(PAYMENT_ID, 'refund') },
  ...own,
});
const dispute = (own: object = {}) => ({
  id: 'disp_QmT5aBcDeFgHi1',
  entity: 'dispute',
  payment_id: PAYMENT_ID,
  amount: 49_950,
  status: 'open',
  ...own,
});
const qrCode = (own: object = {}) => ({
  id: SESSION_ID,
  entity: 'qr_code',
  status: 'closed',
  image_url: 'https://rzp.io/i/1',
  notes: { order_number: 'ORD-1', session_id: 'ps_1' },
  ...own,
});
const moving = {
  gatewayPaymentId: PAYMENT_ID,
  amountPaise: 49_950,
  linkedAccountId: 'acc_QmT5aBcDeFgHi1',
  knownFailures: 0,
  beforeMoving: async () => undefined,
};
const transferInput = { ...moving, idempotencyKey: key };
const refundInput = {
  ...moving,
  idempotencyKey: moneyKey(PAYMENT_ID, 'refund'),
  mayBeTransferred: false,
  reason: 'dispute',
};

describe('a payment', () => {
  test.for<[string, unknown, string | null]>([
    ['an object with the reference', { rrn: '116514257019' }, '116514257019'],
    ['an object with an empty reference', { rrn: '' }, null],
    ['an object with a number', { rrn: 116_514_257_019 }, null],
    ['an object without it', { bank_transaction_id: '0125836177' }, null],
    ['an empty list', [], null],
    ['null', null, null],
    ['absent', undefined, null],
  ])('is read when its acquirer data is %s', async ([, acquirerData, utr], { onTestFinished }) => {
    const answers = {
      [`GET /v1/payments/${PAYMENT_ID}`]: payment({ acquirer_data: acquirerData }),
    };
    const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
    expect(await gateway.fetchPayment(PAYMENT_ID)).toMatchObject({ utr, status: 'captured' });
  });

  test.for<[unknown, string | null]>([
    [{ order_number: 'ORD-1' }, 'ORD-1'],
    [[], null],
    [null, null],
    [undefined, null],
  ])('is read when its notes are %o', async ([notes, orderNumber], { onTestFinished }) => {
    const answers = { [`GET /v1/payments/${PAYMENT_ID}`]: payment({ notes }) };
    const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
    expect(await gateway.fetchPayment(PAYMENT_ID)).toMatchObject({ orderNumber });
  });

  test.for<[boolean | null | undefined, string]>([
    [true, 'refunded'],
    [undefined, 'refunded'],
    [null, 'refunded'],
    [false, 'failed'],
  ])(
    'that is refunded, and captured: %o, is a %s payment',
    async ([captured, status], { onTestFinished }) => {
      const answers = {
        [`GET /v1/payments/${PAYMENT_ID}`]: payment({ status: 'refunded', captured }),
      };
      const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
      const read = await gateway.fetchPayment(PAYMENT_ID);
      expect(read.status).toBe(status);
      expect(read.failure).toEqual(status === 'failed' ? { code: '', description: '' } : null);
    },
  );
});

describe('a transfer', () => {
  test('has its status in one of two fields, as the documents do', async ({ onTestFinished }) => {
    const failed = transfer({ status: undefined, transfer_status: 'failed' });
    const answers = {
      [`GET ${TRANSFERS}`]: collection(failed, transfer({ id: 'trf_QmT5aBcDeFgHi2', amount: 100 })),
    };
    const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
    expect(await gateway.fetchTransferred(PAYMENT_ID)).toEqual({
      heldPaise: 100,
      releasedPaise: 0,
      feePaise: null,
      recipients: [null],
      payouts: [],
    });
  });

  test.for<[string, object, object]>([
    [
      'an error whose fields are null',
      { error: { code: null, description: null, reason: null, metadata: null } },
      { error: { code: null, description: null, reason: null } },
    ],
    [
      'an error without a reason',
      { error: { code: 'BAD_REQUEST_ERROR', description: 'Too little balance' } },
      { error: { code: 'BAD_REQUEST_ERROR', description: 'Too little balance', reason: null } },
    ],
    ['no error', {}, { error: null }],
    ['fees', { fees: 118, tax: 18 }, { fees: 118 }],
    ['a time', { created_at: 1_580_712_811 }, { created_at: 1_580_712_811 }],
    ['no time', {}, { created_at: null }],
  ])('is read with %s', ([, given, read]) => {
    expect(transferSchema.parse(transfer(given))).toMatchObject(read);
  });
});

test.for([
  ['processed', 'setl_LRfWxcxaJyXwde', 'cg8kkuoffu3jpb4k8hgg'],
  ['created', 'setl_LRfWxcxaJyXwde', null],
  ['failed', 'setl_LRfWxcxaJyXwde', null],
  ['processed', 'setl_KstcJycgGX6lRa', null],
] as const)(
  'a settlement that is %s under the id %s has the UTR %s',
  async ([status, id, utr], { onTestFinished }) => {
    const payoutId = 'setl_LRfWxcxaJyXwde';
    const settlement = { id, entity: 'settlement', status, utr: 'cg8kkuoffu3jpb4k8hgg' };
    const settled = transfer({ recipient_settlement_id: id, recipient_settlement: settlement });
    const answers = { 'GET /v1/transfers': collection(settled) };
    const { gateway, requests } = await gatewayThatAnswers(answers, onTestFinished);
    expect(await gateway.fetchPayoutUtr(payoutId)).toBe(utr);
    const query = `recipient_settlement_id=${payoutId}&expand%5B%5D=recipient_settlement&count=1`;
    expect(requests).toEqual([`GET /v1/transfers?${query}`]);
  },
);

test('each list is asked for with the parameters that its page documents', async ({
  onTestFinished,
}) => {
  const answers = {
    [`GET ${TRANSFERS}`]: collection(),
    [`GET ${REFUNDS}`]: collection(),
    'GET /v1/payments/qr_codes': collection(),
    [PAYMENTS]: collection(),
    'GET /v1/disputes': collection(),
  };
  const { gateway, requests } = await gatewayThatAnswers(answers, onTestFinished);
  await gateway.fetchTransferred(PAYMENT_ID);
  await gateway.listRefunds(PAYMENT_ID);
  await gateway.listSessions(1_580_712_811_999);
  await gateway.listSessionPayments(SESSION_ID);
  await gateway.listNewestChargebacks();
  expect(requests).toEqual([
    `GET ${TRANSFERS}`,
    `GET ${REFUNDS}?count=100&skip=0`,
    'GET /v1/payments/qr_codes?from=1580712811&count=100&skip=0',
    `${PAYMENTS}?count=100&skip=0`,
    'GET /v1/disputes?count=100',
  ]);
});

describe('an item of unknown form', () => {
  test('is left out of the list of payments if the session is paid without it', async ({
    onTestFinished,
  }) => {
    const odd = payment({ status: 'settled', id: 'pay_QmT4x8LwZ2cVb8', email: 'gauri@upi' });
    const answers = { [PAYMENTS]: collection(odd, payment()) };
    const { gateway, leftOut } = await gatewayThatAnswers(answers, onTestFinished);
    const read = await gateway.listSessionPayments(SESSION_ID);
    expect(read.map(({ gatewayPaymentId }) => gatewayPaymentId)).toEqual([PAYMENT_ID]);
    expect(leftOut).toEqual([
      {
        operation: 'listSessionPayments',
        message: expect.stringMatching(/^status: .*"id":"pay_QmT4x8LwZ2cVb8".*"status":"settled"/),
      },
    ]);
    expect(leftOut[0]?.message).not.toContain('gauri');
  });

  test('is left out of the lists of sessions and of chargebacks', async ({ onTestFinished }) => {
    const answers = {
      'GET /v1/payments/qr_codes': collection(qrCode({ status: 'paused' }), qrCode()),
      'GET /v1/disputes': collection(dispute(), dispute({ status: 'appealed' })),
    };
    const { gateway, leftOut } = await gatewayThatAnswers(answers, onTestFinished);
    expect(await gateway.listSessions(0)).toMatchObject([{ state: 'closed' }]);
    expect(await gateway.listNewestChargebacks()).toMatchObject([{ state: 'open' }]);
    expect(leftOut.map(({ operation }) => operation)).toEqual([
      'listSessions',
      'listNewestChargebacks',
    ]);
  });

  test('does not make a session unpaid', async ({ onTestFinished }) => {
    const odd = collection(payment({ status: 'settled' }), payment({ status: 'failed' }));
    const answers = {
      [`POST ${SESSION_PATH}/close`]: qrCode(),
      [PAYMENTS]: odd,
    };
    const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
    await expect(gateway.closeSession(SESSION_ID)).rejects.toThrow(GatewayNotUnderstood);
    await expect(gateway.listSessionPayments(SESSION_ID)).rejects.toThrow(GatewayNotUnderstood);
  });

  test('of the payments of a session that is closed is never left out', async ({
    onTestFinished,
  }) => {
    const answers = {
      [`POST ${SESSION_PATH}/close`]: qrCode(),
      [PAYMENTS]: collection(payment({ status: 'settled' }), payment()),
    };
    const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
    await expect(gateway.closeSession(SESSION_ID)).rejects.toThrow(GatewayNotUnderstood);
  });

  test.for<[string, object]>([
    ['under the same key', { status: 'parked' }],
    ['without notes', { status: 'parked', notes: [] }],
    ['with unreadable notes', { notes: 'idempotency_key' }],
  ])('%s lets no money move', async ([, own], { onTestFinished }) => {
    const answers = {
      [`GET ${TRANSFERS}`]: collection(transfer(own)),
      [`GET ${REFUNDS}`]: collection(refund(own)),
    };
    const { gateway, requests } = await gatewayThatAnswers(answers, onTestFinished);
    await expect(gateway.holdFunds(transferInput)).rejects.toThrow(GatewayNotUnderstood);
    await expect(gateway.releaseFunds(transferInput)).rejects.toThrow(GatewayNotUnderstood);
    await expect(gateway.refund(refundInput)).rejects.toThrow(GatewayNotUnderstood);
    expect(requests.filter((request) => request.startsWith('POST'))).toEqual([]);
  });

  test('under another key is no money that was moved under this one', async ({
    onTestFinished,
  }) => {
    const own = { status: 'parked', notes: { idempotency_key: 'pay_Q1-other' } };
    const answers = {
      [`GET ${TRANSFERS}`]: collection(transfer(own)),
      [`POST ${TRANSFERS}`]: collection(transfer()),
      [`GET ${REFUNDS}`]: collection(refund(own), refund()),
    };
    const { gateway, leftOut } = await gatewayThatAnswers(answers, onTestFinished);
    expect(await gateway.holdFunds(transferInput)).toMatchObject({ state: 'held' });
    expect(await gateway.refund(refundInput)).toMatchObject({ state: 'processed' });
    expect(leftOut.map(({ operation }) => operation)).toEqual(['holdFunds', 'refund']);
  });

  test('among the transfers lets no refund leave them as they are', async ({ onTestFinished }) => {
    const odd = transfer({ status: 'parked', notes: { idempotency_key: 'pay_Q1-other' } });
    const answers = {
      [`GET ${TRANSFERS}`]: collection(odd),
      [`GET ${REFUNDS}`]: collection(),
    };
    const { gateway, requests } = await gatewayThatAnswers(answers, onTestFinished);
    await expect(gateway.refund(refundInput)).rejects.toThrow(GatewayNotUnderstood);
    expect(requests.filter((request) => request.startsWith('POST'))).toEqual([]);
  });
});

test('an alert shows of a body its ids, kinds, statuses and amounts, and of the rest the types', () => {
  const given = payment({
    order_id: null,
    status: 'settled',
    captured: true,
    fee: 118,
    amount_refunded: 0,
    contact: 919_000_090_000,
    customer_id: 'gauri@example.com',
    refund_status: 'To Gauri Kumari',
    vpa: 'gauri@upi',
    upi: { vpa: 'gauri@upi', flow: ['gauri'] },
    notes: { order_id: 'order_QmT4x8LwZ2cVb7', status: 'gauri', more: { amount: 5 } },
  });
  expect(redacted([given])).toEqual([
    {
      ...given,
      contact: 'number',
      customer_id: 'string',
      refund_status: 'string',
      vpa: 'string',
      upi: { vpa: 'string', flow: ['string'] },
      notes: { order_id: 'string', status: 'string', more: { amount: 'number' } },
    },
  ]);
});

test('a record has also times, the notes of the service and the reasons of refusals', () => {
  const error = { code: 'BAD_REQUEST_ERROR', description: 'It is not enabled' };
  const given = payment({
    created_at: 1_795_612_820,
    contact: 919_000_090_000,
    vpa: 'gauri@upi',
    error: { ...error, metadata: { name: 'Gauri' } },
    acquirer_data: { rrn: '412345678901', upi_transaction_id: 'AXL0123456789ABCDEF' },
    notes: { order_number: 'ORD-12345678', session_id: 'gauri@upi', order_id: 'order_12345678' },
  });
  expect(redactedForRecord({ items: [given] })).toEqual({
    items: [
      {
        ...given,
        contact: 'number',
        vpa: 'string',
        error: { ...error, metadata: { name: 'string' } },
        acquirer_data: { rrn: 'string', upi_transaction_id: 'string' },
        notes: { order_number: 'ORD-12345678', session_id: 'string', order_id: 'string' },
      },
    ],
  });
});
