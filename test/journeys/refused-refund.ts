import { setSwitches } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** An order whose refund the gateway refuses, which is an alert, until it is allowed. */
export async function refusedRefund(service: TestService, { sandbox }: Merchant) {
  const order = await sandbox.create();
  await sandbox.help(order, 'pay');
  const { payment } = await sandbox.read(order);
  const paymentId = payment?.gateway_payment_id ?? '';
  await setSwitches(service, paymentId, { refundsRefused: true });
  await sandbox.command(order, 'refund', { reason: 'It is sold out' });
  await until(async () => {
    const alerts = await service.sql`SELECT FROM alerts
      WHERE kind = 'gateway_refused' AND subject = ${order.order_number}`;
    return alerts.length > 0;
  });
  return { order, allowRefund: () => setSwitches(service, paymentId, { refundsRefused: null }) };
}
