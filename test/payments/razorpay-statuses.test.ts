import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { GatewayUnavailable, moneyKey } from '../../src/payments/gateway.ts';
import { observedGateway } from '../../src/payments/observed-gateway.ts';
import { createRazorpayGateway } from '../../src/payments/razorpay/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import { KEYS } from './gateway-harness.ts';

const test = serviceTest({ time: 'real', worker: false, callbacks: false });

const PAYMENT_ID = 'pay_QmT4x8LwZ2cVb7';
const TRANSFER_KEY = moneyKey(PAYMENT_ID, 'transfer');

/** A gateway that answers these bodies in statuses in which the simulator never is. */
async function gatewayThatAnswers(
  answers: Record<string, unknown>,
  onTestFinished: (stop: () => void) => void,
) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://gateway');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answers[`${request.method} ${pathname}`]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return createRazorpayGateway({ baseUrl: `http://127.0.0.1:${port}`, ...KEYS });
}

const collection = (...items: object[]) => ({ entity: 'collection', count: items.length, items });
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
    const gateway = await gatewayThatAnswers(answers, onTestFinished);
    await expect(gateway[operation](transferInput)).rejects.toMatchObject({
      name: 'GatewayRefused',
      code: 'TRANSFER_FAILED',
    });
  },
);

test('a transfer that was reversed does not hold the money', async ({ onTestFinished }) => {
  const answers = {
    [`GET /v1/payments/${PAYMENT_ID}/transfers`]: collection(transfer('reversed')),
  };
  const gateway = await gatewayThatAnswers(answers, onTestFinished);
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
    const gateway = await gatewayThatAnswers(answers, onTestFinished);
    expect(await gateway.fetchChargeback(dispute.id)).toMatchObject({ state, amountPaise });
  },
);

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
  fetchTransferred: {
    [`GET /v1/payments/${PAYMENT_ID}/transfers`]: collection(transfer('parked')),
  },
} as const;

test.for(Object.entries(UNKNOWN_STATUSES))(
  'an unknown status raises an alert, and nothing is concluded from it: %s',
  async ([operation, answers], { service, onTestFinished }) => {
    const port = await gatewayThatAnswers(answers, onTestFinished);
    const at = { gateway: 'razorpay', environment: 'production' };
    const observed = observedGateway(service.deps, port, at);
    const call = observed[operation as keyof typeof UNKNOWN_STATUSES](PAYMENT_ID);
    await expect(call).rejects.toThrow(GatewayUnavailable);
    const [alert] = await service.sql`
      DELETE FROM alerts WHERE kind = 'gateway_not_understood' AND subject = 'razorpay:production'
      RETURNING details->>'operation' AS operation`;
    expect(alert).toEqual({ operation });
  },
);
