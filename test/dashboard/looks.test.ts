import { expect } from 'vitest';
import type { AuditEntry, AuditFilter } from '../../src/merchants/audit-log.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import type { TestService } from '../support/service.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

const linesOf = async ({ sql }: TestService, filter: AuditFilter) =>
  (await listAudit(sql, filter, 100)).entries.toReversed();
const OPERATOR = expect.stringMatching(/^operator:.*@ops\.example$/);
const withoutTexts = ({ actor, address, details }: AuditEntry) => ({ actor, address, details });

test('a file of orders is a line that names the user, and not the buyer who was searched', async ({
  service,
  merchant,
  owner,
}) => {
  await merchant.sandbox.create();
  await owner.get('/dashboard/sandbox/orders.csv?q=asha@example.com');
  const lines = await linesOf(service, { action: 'orders.export' });
  expect(lines).toMatchObject([
    {
      actor: expect.stringMatching(/^merchant:.*@shop\.example$/),
      address: '127.0.0.1',
      merchantId: merchant.merchantId,
      details: { environment: 'sandbox' },
    },
  ]);
  expect(JSON.stringify(lines)).not.toContain('asha@');
});

test('a file of the audit list is a line with its filter', async ({ service, operators }) => {
  await operators.support.get('/operator/audit.csv?action=none');
  const [line] = await linesOf(service, { action: 'audit.export' });
  expect(line && withoutTexts(line)).toEqual({
    actor: OPERATOR,
    address: '127.0.0.1',
    details: { action: 'none' },
  });
});

test('an operator who sees a buyer writes a line for each operator and order, once an hour', async ({
  service,
  merchant,
  operators,
}) => {
  const { order_number: subject } = await merchant.sandbox.create();
  const filter = { subject, action: 'buyer.view' };
  for (const _ of [1, 2]) await operators.support.get(`/operator/orders/${subject}`);
  await operators.finance.get(`/operator/disputes/${subject}`);
  const lines = await linesOf(service, filter);
  expect(lines).toMatchObject([{ actor: OPERATOR }, { actor: OPERATOR }]);
  expect(lines[0]?.actor).not.toBe(lines[1]?.actor);
  await service.sql`UPDATE audit_log SET at = at - interval '2 hours' WHERE subject = ${subject}`;
  await operators.support.get(`/operator/orders/${subject}`);
  expect(await linesOf(service, filter)).toHaveLength(3);
});

test('a search that shows buyers is a line with the orders that were shown', async ({
  service,
  merchant,
  operators,
}) => {
  const buyerEmail = 'found@example.com';
  const { order_number } = await merchant.sandbox.create({ buyerEmail });
  await operators.support.get(`/operator/orders?text=${buyerEmail}`);
  await operators.support.get('/operator/orders?text=none@example.com');
  const lines = await linesOf(service, { action: 'buyer.search' });
  expect(lines.map(withoutTexts)).toEqual([
    { actor: OPERATOR, address: '127.0.0.1', details: { orders: [order_number] } },
  ]);
});
