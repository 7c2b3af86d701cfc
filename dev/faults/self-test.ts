import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { Environment } from '../../src/domain/index.ts';
import type { AcknowledgedCommand, Memory } from '../load/memory.ts';
import { checkEverything } from '../load/oracle/check-everything.ts';
import type { Check } from '../load/oracle/report.ts';
import { askSimulator, simulatorAccessOf } from '../load/simulator.ts';
import { receivedMails } from '../mailbox/received.ts';
import { onDatabase, withConnection } from '../postgres/databases.ts';
import { copyDatabases, restoreDatabases } from './copies.ts';
import { namesOf, stopMembers, type Run } from './run.ts';
import { TAMPERINGS, type Tampering } from './tamperings.ts';

/** A change of something else than the database. */
interface OtherTampering extends Omit<Tampering, 'statements'> {
  readonly finds: Check;
  /** @param memory a copy of the run's, for this change alone */
  readonly change: (memory: Memory, run: Run) => unknown;
}

/** Changes of what merchants remember, and then of the mailbox, of Temporal and of the gateway, which stay. */
const OTHER_TAMPERINGS: readonly OtherTampering[] = [
  {
    name: 'an order was acknowledged that is not there',
    finds: 'lost',
    says: 'its creation was acknowledged',
    change: ({ orders }, { merchant: { merchantId } }) =>
      orders.push({
        merchantId,
        idempotencyKey: randomUUID(),
        orderNumbers: new Set(['ORD00000000000000000000001']),
        commands: [],
      }),
  },
  {
    name: 'a command was acknowledged that is not there',
    finds: 'lost',
    says: 'was acknowledged, and has no step',
    change: (memory) => addCommand(memory, { idempotencyKey: randomUUID() }),
  },
  {
    name: 'a refused command has a step',
    finds: 'surprise',
    says: 'was refused with 400, and has',
    change: (memory) => addCommand(memory, { status: 400 }),
  },
  {
    name: 'a key was answered with two orders',
    finds: 'duplicate',
    says: 'its key was also answered',
    change: ({ orders }) =>
      orders
        .find(({ orderNumbers }) => orderNumbers.size > 0)
        ?.orderNumbers.add('ORD00000000000000000000002'),
  },
  {
    name: 'a webhook had a wrong signature',
    finds: 'surprise',
    says: 'x',
    change: ({ surprises }) => surprises.push({ subject: 'x', fault: 'x' }),
  },
  {
    name: 'a right was used after its end',
    finds: 'people',
    says: 'was used 1 times',
    change: ({ endedRights }) =>
      endedRights.push({ right: 'x', endedAtMs: 0, refused: 0, usedAtMs: [1] }),
  },
  {
    name: 'a received mail is lost',
    finds: 'mail',
    says: 'was never received',
    change(_, { environment }) {
      const once = [...receivedMails(environment()['DATA_DIR'] ?? '')].find(
        ([mailId, files]) => mailId.startsWith('buyer-') && files.length === 1,
      );
      rmSync(once?.[1][0] ?? '');
    },
  },
  {
    name: 'a workflow was terminated',
    finds: 'workflow',
    says: 'TERMINATED',
    change: (memory, run) =>
      run.withTemporal(({ workflow }) =>
        workflow.getHandle(numberOf(memory, 'PAID')).terminate('self-test'),
      ),
  },
  {
    name: 'a payment was refunded twice',
    finds: 'duplicate',
    says: '2 refunds',
    async change(memory, run) {
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
    },
  },
];

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
 * Shows that each check can fail: changes the database, the memory of merchants, the mailbox, Temporal and the
 * gateway, and expects a check to find it. The service does not run meanwhile, and the run is over afterwards.
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

  async function expectFound(
    finds: Check,
    { name, says }: Omit<Tampering, 'statements'>,
    memory = run.deps.memory,
  ) {
    const found = (await findings(memory)).find(
      ({ check, fault }) => check === finds && fault.includes(says),
    );
    log(`${found ? 'found' : 'MISSED'} (${finds}): ${name}: ${found?.fault ?? ''}`);
    if (!found) missed.push(`not found by the check ${finds}: ${name}`);
  }

  const { adminDatabaseUrl, migrationDatabaseUrl } = run.cluster;
  const database = onDatabase(adminDatabaseUrl, new URL(migrationDatabaseUrl).pathname.slice(1));
  await copyDatabases(run, 'postgres');
  for (const [finds, tamperings] of Object.entries(TAMPERINGS)) {
    for (const tampering of tamperings) {
      const change = `SET session_replication_role = replica; ${tampering.statements}`;
      await withConnection(database, (sql) => sql.unsafe(change).simple());
      await expectFound(finds as Check, tampering);
      await restoreDatabases(run, 'postgres');
    }
  }
  for (const tampering of OTHER_TAMPERINGS) {
    const memory = structuredClone(run.deps.memory);
    await tampering.change(memory, run);
    await expectFound(tampering.finds, tampering, memory);
  }
  return missed;
}
