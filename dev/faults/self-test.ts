import { randomUUID } from 'node:crypto';
import type { Environment } from '../../src/domain/index.ts';
import type { AcknowledgedCommand, Memory } from '../load/memory.ts';
import { checkEverything } from '../load/oracle/check-everything.ts';
import { askSimulator, simulatorAccessOf } from '../load/simulator.ts';
import { onDatabase, withConnection } from '../postgres/databases.ts';
import { copyDatabases, restoreDatabases } from './copies.ts';
import { namesOf, stopMembers, type Run } from './run.ts';
import { TAMPERINGS, type Tamperings } from './tamperings.ts';

/** Changes of what merchants remember; and of Temporal and of the gateway, which stay. */
const OTHER_TAMPERINGS: Tamperings = {
  lost: {
    'an order was acknowledged that is not there': [
      'its creation was acknowledged',
      ({ orders }, { merchant: { merchantId } }) =>
        orders.push({
          merchantId,
          idempotencyKey: randomUUID(),
          orderNumbers: new Set(['ORD00000000000000000000001']),
          commands: [],
        }),
    ],
    'a command was acknowledged that is not there': [
      'was acknowledged, and has no step',
      (memory) => addCommand(memory, { idempotencyKey: randomUUID() }),
    ],
  },
  surprise: {
    'a refused command has a step': [
      'was refused with 400, and has',
      (memory) => addCommand(memory, { status: 400 }),
    ],
    'a webhook had a wrong signature': [
      'x',
      ({ surprises }) => surprises.push({ subject: 'x', fault: 'x' }),
    ],
  },
  workflow: {
    'a workflow was terminated': [
      'TERMINATED',
      (memory, run) =>
        run.withTemporal(({ workflow }) =>
          workflow.getHandle(numberOf(memory, 'PAID')).terminate('self-test'),
        ),
    ],
  },
  duplicate: {
    'a key was answered with two orders': [
      'its key was also answered',
      ({ orders }) =>
        orders
          .find(({ orderNumbers }) => orderNumbers.size > 0)
          ?.orderNumbers.add('ORD00000000000000000000002'),
    ],
    'a payment was refunded twice': ['2 refunds', refundTwice],
  },
};

async function refundTwice(memory: Memory, run: Run): Promise<void> {
  const [payment] = await run.withSql(
    (sql) => sql<{ id: string; environment: Environment }[]>`
      SELECT gateway_payment_id AS id, environment FROM orders
      WHERE order_number = ${numberOf(memory, 'DELIVERED')}`,
  );
  const simulator = simulatorAccessOf(run.checked(), payment?.environment);
  // Those of the gateway's dashboard have no key.
  const notes = { idempotency_key: 'self-test' };
  for (const amount of [100, 101]) {
    const refund = { amount, reverse_all: true, notes };
    await askSimulator(simulator, 'POST', `/v1/payments/${payment?.id}/refund`, refund);
  }
}

/** Adds a command to those of an order that has one, equal to it but for the changes. */
function addCommand({ orders }: Memory, changes: Partial<AcknowledgedCommand>) {
  const commands = orders.map((order) => order.commands).find(({ length }) => length > 0) ?? [];
  const [command] = commands;
  if (command) commands.push({ ...command, ...changes });
}

/** The number of an order with this final status. */
function numberOf({ orders }: Memory, status: string): string {
  const order = orders.find(({ finalStatus }) => finalStatus === status);
  return [...(order?.orderNumbers ?? [])][0] ?? '';
}

/**
 * Shows that each check can fail: changes the database, the memory of merchants, Temporal and the gateway,
 * and expects a check to find it. The service does not run meanwhile, and the run is over afterwards.
 *
 * @returns what was not found
 */
export async function testChecks(run: Run, log: (line: string) => void): Promise<string[]> {
  const missed: string[] = [];
  await stopMembers(run, namesOf(run, 'api', 'worker'));
  const findings = async (memory: Memory) =>
    (await checkEverything(run.checked(), memory)).violations;
  if ((await findings(run.deps.memory)).length > 0)
    return ['The self-test begins without violations'];
  const { adminDatabaseUrl, migrationDatabaseUrl } = run.cluster;
  const database = onDatabase(adminDatabaseUrl, new URL(migrationDatabaseUrl).pathname.slice(1));
  await copyDatabases(run, 'postgres');
  const all = [TAMPERINGS, OTHER_TAMPERINGS].flatMap((tamperings) => Object.entries(tamperings));
  for (const [finds, tamperings] of all) {
    for (const [name, [says, change]] of Object.entries(tamperings)) {
      const memory = structuredClone(run.deps.memory);
      if (typeof change !== 'string') await change(memory, run);
      else {
        const statements = `SET session_replication_role = replica; ${change}`;
        await withConnection(database, (sql) => sql.unsafe(statements).simple());
      }
      const found = (await findings(memory)).find(
        ({ check, fault }) => check === finds && fault.includes(says),
      );
      log(`${found ? 'found' : 'MISSED'} (${finds}): ${name}: ${found?.fault ?? ''}`);
      if (!found) missed.push(`not found by the check ${finds}: ${name}`);
      if (typeof change === 'string') await restoreDatabases(run, 'postgres');
    }
  }
  return missed;
}
