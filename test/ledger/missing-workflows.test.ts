import { expect } from 'vitest';
import { freePort } from '../../dev/processes/ports.ts';
import { listDifferences } from '../../src/orders/wake/compare-orders.ts';
import { adminCli } from '../support/admin-cli.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Verified {
  ok: boolean;
  faultCount: number;
  faults: { rule: string; subject: string; fault: string }[];
  workflows: { openOrderCount: number; notCompared: string | null };
}

const test = serviceTest({
  time: 'real',
  callbacks: false,
  merchant: { webhooks: false },
});

/** The sweep does not start these orders: a workflow has begun. */
const markBegun = ({ sql }: TestService, orderNumbers: string[]) => sql`
  DELETE FROM order_wakeups WHERE order_number IN ${sql(orderNumbers)}`;

const missingIn = async ({ deps }: TestService) =>
  (await listDifferences(deps)).differences
    .filter(({ kind }) => kind === 'missing' || kind === 'closed')
    .map(({ orderNumber }) => orderNumber);

test('open orders without a workflow are listed, with exit code 1, until they are recovered', async ({
  service,
  orders,
  cli,
}) => {
  const terminated = await orders.in('PAID');
  const lost = await orders.write();
  await markBegun(service, [lost.orderNumber]);
  const running = await orders.in('DELIVERED');
  await orders.in('CANCELLED');
  const justCreated = await orders.write();
  const neverStarted = await orders.write();
  await service.sql`
    UPDATE order_wakeups SET written_at = written_at - interval '6 minutes'
    WHERE order_number = ${neverStarted.orderNumber}`;
  await terminated.handle.terminate('A test');
  // Temporal's list of workflows lags behind.
  await until(async () => (await missingIn(service)).length === 3);

  const found = await cli.jsonOfFailure<Verified>('ledger', 'verify');
  expect(found).toMatchObject({
    ok: false,
    faultCount: 3,
    workflows: { openOrderCount: 5, notCompared: null },
  });
  expect(found.faults).toEqual([
    {
      rule: 'workflow',
      subject: terminated.orderNumber,
      fault: 'PAID, but its workflow has ended: run admin order recover',
    },
    {
      rule: 'workflow',
      subject: lost.orderNumber,
      fault: 'ACCEPTED, but it has no workflow: run admin order recover',
    },
    {
      rule: 'workflow',
      subject: neverStarted.orderNumber,
      fault: 'ACCEPTED, but it has no workflow: run admin order recover',
    },
  ]);
  const { code, stdout } = await cli.run('ledger', 'verify');
  expect(code).toBe(1);
  expect(stdout).toMatch(/Open orders compared with Temporal +5/);
  expect(stdout).toContain(terminated.orderNumber);
  for (const sound of [running.orderNumber, justCreated.orderNumber]) {
    expect(stdout).not.toContain(sound);
  }

  for (const order of [terminated.orderNumber, lost.orderNumber, neverStarted.orderNumber]) {
    expect((await cli.run('order', 'recover', '--order', order)).code).toBe(0);
  }
  expect(await cli.json<Verified>('ledger', 'verify')).toMatchObject({ ok: true, faults: [] });
});

test('an unavailable Temporal is one line with exit code 1, and the ledger is still verified', async ({
  service,
}) => {
  const away = adminCli({ ...service.env, TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` });
  const { code, stdout, stderr } = await away.run('ledger', 'verify');
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  const lines = stdout.split('\n').filter((line) => line.includes('Temporal'));
  expect(lines).toEqual([
    expect.stringMatching(
      /^Open orders are not compared with Temporal\. Temporal cannot be reached: /,
    ),
  ]);
  expect(stdout).toMatch(/sandbox +merchant_held +INR \d/);
  expect(stdout).toContain('The ledger is sound');
});

test('without a Temporal the output says that orders and workflows were not compared', async ({
  service,
}) => {
  const { TEMPORAL_ADDRESS: _address, ...others } = service.env;
  const { workflows } = await adminCli(others).json<Verified>('ledger', 'verify');
  expect(workflows.notCompared).toBe(
    'Open orders are not compared with Temporal. TEMPORAL_ADDRESS is not set.',
  );
});

test('more orders than fit into a page are all compared', async ({ service, orders }) => {
  const before = await missingIn(service);
  const lost: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    const written = await Promise.all(Array.from({ length: 100 }, () => orders.write()));
    lost.push(...written.map(({ orderNumber }) => orderNumber));
  }
  await markBegun(service, lost);
  expect(await missingIn(service)).toEqual([...before, ...lost].toSorted());
});
