import { expect } from 'vitest';
import { GatewayUnavailable, moneyKey } from '../../../src/payments/gateway/gateway.ts';
import { createGateways } from '../../../src/payments/gateway/gateways.ts';
import { observedGateway } from '../../../src/payments/gateway/observed-gateway.ts';
import { razorpay } from '../../../src/payments/razorpay/adapter.ts';
import type { Sql } from '../../../src/db/client.ts';
import { serviceTest } from '../../support/service-test.ts';
import { UNTIL_MS } from '../../support/time-limits.ts';
import { collection, gatewayThatAnswers } from './answering-gateway.ts';

const test = serviceTest({ time: 'real', worker: false, callbacks: false });

const PAYMENT_ID = 'pay_QmT4x8LwZ2cVb7';
const TRANSFER_KEY = moneyKey(PAYMENT_ID, 'transfer');

const transfer = (status: string) => ({
  id: 'trf_QmT5aBcDeFgHi1',
  entity: 'transfer',
  status,
  amount: 49_950,
  amount_reversed: status === 'reversed' ? 49_950 : 0,
  on_hold: true,
  notes: { idempotency_key: TRANSFER_KEY },
});
const transferInput = {
  gatewayPaymentId: PAYMENT_ID,
  amountPaise: 49_950,
  linkedAccountId: 'acc_QmT5aBcDeFgHi1',
  idempotencyKey: TRANSFER_KEY,
  knownFailures: 0,
  beforeMoving: async () => undefined,
};

test.for(['holdFunds', 'releaseFunds'] as const)(
  'a transfer that has failed is not money that was moved: %s',
  async (operation, { onTestFinished }) => {
    const path = `/v1/payments/${PAYMENT_ID}/transfers`;
    const answers = {
      [`GET ${path}`]: collection(),
      [`POST ${path}`]: collection(transfer('failed')),
    };
    const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
    await expect(gateway[operation](transferInput)).rejects.toMatchObject({
      name: 'TransferFailed',
      code: 'TRANSFER_FAILED',
    });
  },
);

test('a transfer that was reversed does not hold the money', async ({ onTestFinished }) => {
  const answers = {
    [`GET /v1/payments/${PAYMENT_ID}/transfers`]: collection(transfer('reversed')),
  };
  const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
  await expect(gateway.holdFunds(transferInput)).rejects.toMatchObject({
    code: 'TRANSFER_REVERSED',
  });
});

test.for<[string, number, string, number]>([
  ['open', 49_950, 'open', 49_950],
  ['under_review', 49_950, 'open', 49_950],
  ['won', 49_950, 'won', 49_950],
  ['closed', 49_950, 'won', 49_950],
  ['lost', 20_000, 'lost', 20_000],
  ['lost', 0, 'lost', 49_950],
])(
  'a dispute that is %s with %i paise deducted is a chargeback that is %s',
  async ([status, deducted, state, amountPaise], { onTestFinished }) => {
    const dispute = {
      id: 'disp_QmT5aBcDeFgHi1',
      entity: 'dispute',
      payment_id: PAYMENT_ID,
      amount: 49_950,
      amount_deducted: deducted,
      status,
    };
    const answers = { [`GET /v1/disputes/${dispute.id}`]: dispute };
    const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
    expect(await gateway.fetchChargeback(dispute.id)).toMatchObject({ state, amountPaise });
  },
);

/** The details of the alert, which is deleted. */
async function takeAlert(sql: Sql): Promise<Record<string, unknown> | undefined> {
  const [alert] = await sql<{ details: Record<string, unknown> }[]>`
    DELETE FROM alerts WHERE kind = 'gateway_not_understood' AND subject = 'razorpay:production'
    RETURNING details`;
  return alert?.details;
}

test('an account of which Razorpay does not report whether it is activated: unknown', async ({
  onTestFinished,
}) => {
  const { linkedAccountId } = transferInput;
  const account = { status: 'created', created_at: 1_611_136_837 };
  const answers = { [`GET /v2/accounts/${linkedAccountId}`]: account };
  const { gateway } = await gatewayThatAnswers(answers, onTestFinished);
  expect(await gateway.fetchLinkedAccount(linkedAccountId)).toMatchObject({ state: 'unknown' });
});

/** Answers, each with one status that Razorpay's documents do not name. */
const UNKNOWN_STATUSES = {
  fetchPayment: {
    [`GET /v1/payments/${PAYMENT_ID}`]: {
      id: PAYMENT_ID,
      entity: 'payment',
      status: 'settled',
      amount: 49_950,
      currency: 'INR',
    },
  },
  listRefunds: {
    [`GET /v1/payments/${PAYMENT_ID}/refunds`]: collection({
      id: 'rfnd_QmT5aBcDeFgHi1',
      entity: 'refund',
      payment_id: PAYMENT_ID,
      amount: 49_950,
      status: 'on_the_way',
    }),
  },
  fetchLinkedAccount: {
    [`GET /v2/accounts/${PAYMENT_ID}`]: { status: 'frozen', created_at: 1_611_136_837 },
  },
  fetchTransferred: {
    [`GET /v1/payments/${PAYMENT_ID}/transfers`]: collection(transfer('parked')),
  },
} as const;

test.for(Object.entries(UNKNOWN_STATUSES))(
  'an unknown status raises an alert, and nothing is concluded from it: %s',
  async ([operation, answers], { service, onTestFinished }) => {
    const { gateway: port } = await gatewayThatAnswers(answers, onTestFinished);
    const at = { gateway: 'razorpay', environment: 'production' };
    const observed = observedGateway(service.deps, port, at);
    const call = observed[operation as keyof typeof UNKNOWN_STATUSES](PAYMENT_ID);
    await expect(call).rejects.toThrow(GatewayUnavailable);
    expect(await takeAlert(service.sql)).toMatchObject({ operation });
  },
);

test('an item of a list that is left out raises the alert, without the buyer’s data', async ({
  service,
  onTestFinished,
}) => {
  const session = 'qr_QmT4x8LwZ2cVb7';
  const odd = {
    id: 'pay_QmT4x8LwZ2cVb8',
    entity: 'payment',
    status: 'settled',
    amount: 49_950,
    currency: 'INR',
    contact: '+919000090000',
    email: 'gauri@example.com',
    vpa: 'gauri@upi',
    notes: { order_number: 'ORD-SECRET-1' },
  };
  const payment = { ...odd, id: PAYMENT_ID, status: 'captured' };
  const answers = { [`GET /v1/payments/qr_codes/${session}/payments`]: collection(odd, payment) };
  const { settings } = await gatewayThatAnswers(answers, onTestFinished);
  const given = { sandbox: {}, production: { razorpay: settings } };
  const options = { timeoutMs: UNTIL_MS, log: service.deps.log };
  const gateways = await createGateways(service.deps, [razorpay], given, options);
  const port = gateways.forOrder({ gateway: 'razorpay', environment: 'production' });
  expect(await port.listSessionPayments(session)).toMatchObject([{ gatewayPaymentId: PAYMENT_ID }]);
  const alert = await takeAlert(service.sql);
  expect(alert).toMatchObject({ operation: 'listSessionPayments' });
  const { contact: _, email: __, vpa: ___, notes: ____, ...shown } = odd;
  expect(alert?.['error']).toContain(JSON.stringify(shown).slice(0, -1));
  for (const personal of ['9000090000', 'gauri', 'SECRET']) {
    expect(JSON.stringify(alert)).not.toContain(personal);
  }
});
