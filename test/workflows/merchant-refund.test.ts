import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { writeDispute } from '../../src/orders/commands/command-queries.ts';
import { madeAtGateway } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import type { DirectOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import { A_BUYER } from '../support/actor.ts';

const test = serviceTest({ time: 'skipping', callbacks: false, merchant: { webhooks: false } });

const HOUR_MS = 3_600_000;
const REFUSAL = 'Cannot refund; order must be in PAID or DELIVERED status';
const refund = ({ sandbox }: Merchant, { orderNumber }: DirectOrder, key: string = randomUUID()) =>
  sandbox.post(`/orders/${orderNumber}/refund`, { reason: 'Sold out' }, { 'Idempotency-Key': key });

test('a refund repeated with its key responds 200, and the buyer gets the money once', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('PAID');
  const key = randomUUID();
  const answers = await Promise.all([1, 2, 3].map(() => refund(merchant, order, key)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  await order.untilStatus('REFUNDED');
  const again = await refund(merchant, order, key);
  expect([again.status, again.body.data.status]).toEqual([200, 'REFUNDED']);
  expect(again.headers.get('Idempotent-Replayed')).toBe('true');
  const { gatewayPaymentId: paymentId } = await order.row();
  expect(await madeAtGateway(service, paymentId ?? '', 'refunds')).toHaveLength(1);
  expect((await order.kinds()).slice(-2)).toEqual(['REFUND_STARTED', 'REFUND_PROCESSED']);
});

test('a refund is refused while a dispute received in time is waiting, and the dispute continues', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  const dispute = {
    commandId: `dispute:${randomUUID()}`,
    reason: 'It never arrived',
    actor: A_BUYER,
  };
  await writeDispute(service.sql, order.orderNumber, dispute);
  const { status, body } = await refund(merchant, order);
  expect(status).toBe(400);
  // The refund tells the order of the dispute, which may be recorded before the refusal is final.
  expect([REFUSAL, `${REFUSAL}; a dispute is waiting`]).toContain(body.message);
  await order.untilStatus('DISPUTE_OPEN');
  await order.update('dispute', { commandId: dispute.commandId });
  expect(await order.row()).toMatchObject({ status: 'DISPUTE_OPEN', refundReason: null });
});

test('after a release or a refund has begun, a refund is refused with the reason', async ({
  service,
  merchant,
  orders,
  gateway,
}) => {
  const [refunding, releasing] = [await orders.in('PAID'), await orders.in('DELIVERED')];
  const { endFault } = await gateway.addFault({ kind: 'error' });
  expect((await refund(merchant, refunding)).status).toBe(200);
  expect((await refund(merchant, refunding)).body.message).toBe(
    `${REFUSAL}; the buyer is being refunded`,
  );
  expect(await refunding.refusalOf('deliver')).toBe(
    'Cannot mark as delivered; order must be in PAID status; the buyer is being refunded',
  );
  await service.skip(24 * HOUR_MS + 1000);
  await releasing.untilStep('RELEASE_STARTED');
  expect((await refund(merchant, releasing)).body.message).toBe(
    `${REFUSAL}; the funds are being released to the merchant`,
  );
  await endFault();
  await service.skip(HOUR_MS);
  await Promise.all([refunding.untilStatus('REFUNDED'), releasing.untilStatus('COMPLETED')]);
});
