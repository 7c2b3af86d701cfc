import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import type postgres from 'postgres';
import type { Environment } from '../../src/domain/index.ts';
import type { AcknowledgedOrder } from '../load/memory.ts';
import { checkEverything } from '../load/oracle/check-everything.ts';
import type { Check } from '../load/oracle/report.ts';
import { askSimulator, simulatorAccessOf } from '../load/simulator.ts';
import { receivedMails } from '../mailbox/received.ts';
import { onDatabase, withConnection } from '../postgres/databases.ts';
import { namesOf, stopMembers, type Run } from './run.ts';
import { TAMPERINGS, type Tampering } from './tamperings.ts';

/** A change of something else than the database. @returns how it is undone, if it can be */
interface OtherTampering extends Omit<Tampering, 'statements'> {
  readonly finds: Check;
  readonly change: (run: Run) => Promise<() => unknown> | (() => unknown);
}

const NEVER_UNDONE = () => undefined;

/** Changes of what merchants remember, of the mailbox, of Temporal and of the gateway: the last two stay. */
const OTHER_TAMPERINGS: readonly OtherTampering[] = [
  {
    name: 'an order was acknowledged that is not there',
    finds: 'lost',
    says: 'its creation was acknowledged',
    change: ({ deps, merchant: { merchantId } }) =>
      add<AcknowledgedOrder>(deps.memory.orders, {
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
    change: (run) => addCommand(run, { idempotencyKey: randomUUID() }),
  },
  {
    name: 'a refused command has a step',
    finds: 'surprise',
    says: 'was refused, and has',
    change: (run) => addCommand(run, { result: 'refused' }),
  },
  {
    name: 'a key was answered with two orders',
    finds: 'duplicate',
    says: 'its key was also answered',
    change(run) {
      const { orderNumbers } = orderWithCommand(run);
      orderNumbers.add('ORD00000000000000000000002');
      return () => orderNumbers.delete('ORD00000000000000000000002');
    },
  },
  {
    name: 'a webhook had a wrong signature',
    finds: 'surprise',
    says: 'x',
    change: ({ deps }) => add(deps.memory.surprises, { subject: 'x', fault: 'x' }),
  },
  {
    name: 'a right was used after its end',
    finds: 'people',
    says: 'was used 1 times',
    change: ({ deps }) =>
      add(deps.memory.endedRights, { right: 'x', endedAtMs: 0, refused: 0, usedAtMs: [1] }),
  },
  {
    name: 'a received mail is lost',
    finds: 'mail',
    says: 'was never received',
    change({ environment }) {
      const once = [...receivedMails(environment()['DATA_DIR'] ?? '')].find(
        ([mailId, files]) => mailId.startsWith('buyer-') && files.length === 1,
      );
      const file = once?.[1][0] ?? '';
      renameSync(file, `${file}.lost`);
      return () => renameSync(`${file}.lost`, file);
    },
  },
  {
    name: 'a workflow was terminated',
    finds: 'workflow',
    says: '',
    async change(run) {
      await run.withTemporal(({ workflow }) =>
        workflow.getHandle(numberOf(run, 'PAID')).terminate('self-test'),
      );
      return NEVER_UNDONE;
    },
  },
  {
    name: 'a payment was refunded twice',
    finds: 'duplicate',
    says: '2 refunds',
    async change(run) {
      const [payment] = await run.withSql(
        (sql) => sql<{ id: string; environment: Environment }[]>`
          SELECT gateway_payment_id AS id, environment FROM orders
          WHERE order_number = ${numberOf(run, 'DELIVERED')}`,
      );
      const simulator = simulatorAccessOf(run.checked(), payment?.environment);
      // Those of the gateway's dashboard have no key.
      const notes = { idempotency_key: 'self-test' };
      for (const amount of [100, 101]) {
        const refund = { amount, reverse_all: true, notes };
        await askSimulator(simulator, 'POST', `/v1/payments/${payment?.id}/refund`, refund);
      }
      return NEVER_UNDONE;
    },
  },
];

function add<Item>(list: Item[], item: Item): () => unknown {
  list.push(item);
  return () => list.pop();
}

function orderWithCommand({ deps }: Run): AcknowledgedOrder {
  const order = deps.memory.orders.find(({ commands }) => commands.length > 0);
  if (!order) throw new Error('A run has commands');
  return order;
}

function addCommand(run: Run, changes: Partial<AcknowledgedOrder['commands'][number]>) {
  const { commands } = orderWithCommand(run);
  const [command] = commands;
  if (!command) throw new Error('A run has commands');
  return add(commands, { ...command, ...changes });
}

/** The number of an order with this final status. */
function numberOf({ deps }: Run, status: string): string {
  const order = deps.memory.orders.find(({ finalStatus }) => finalStatus === status);
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
  const findings = async () => (await checkEverything(run.checked(), run.deps.memory)).violations;
  if ((await findings()).length > 0) return ['The self-test begins without violations'];

  async function expectFound(finds: Check, { name, says }: Omit<Tampering, 'statements'>) {
    const found = (await findings()).find(
      ({ check, fault }) => check === finds && fault.includes(says),
    );
    log(`${found ? 'found' : 'MISSED'} (${finds}): ${name}: ${found?.fault ?? ''}`);
    if (!found) missed.push(`not found by the check ${finds}: ${name}`);
  }

  const { adminDatabaseUrl, migrationDatabaseUrl } = run.cluster;
  const database = new URL(migrationDatabaseUrl).pathname.slice(1);
  await withConnection(onDatabase(adminDatabaseUrl, database), async (sql) => {
    const tables = await keepTables(sql);
    for (const [finds, tamperings] of Object.entries(TAMPERINGS)) {
      for (const tampering of tamperings) {
        await sql.unsafe(tampering.statements).simple();
        await expectFound(finds as Check, tampering);
        await tables.restore();
      }
    }
  });
  for (const tampering of OTHER_TAMPERINGS) {
    const undo = await tampering.change(run);
    await expectFound(tampering.finds, tampering);
    undo();
  }
  return missed;
}

interface Table {
  readonly name: string;
  readonly columns: string;
}

/**
 * Copies every table of the service, and lets this connection write without triggers and foreign keys. The
 * superuser's only connection of its pool must be passed.
 */
async function keepTables(sql: postgres.Sql): Promise<{ restore(): Promise<void> }> {
  const tables = await sql<Table[]>`
    SELECT quote_ident(c.relname) AS name, string_agg(quote_ident(a.attname), ', ') AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    GROUP BY c.relname`;
  const [index] = await sql<{ definition: string }[]>`
    SELECT pg_get_indexdef('order_steps_by_command'::regclass) AS definition`;
  await sql.unsafe(`SET session_replication_role = replica; CREATE SCHEMA kept;`).simple();
  for (const { name } of tables) {
    await sql.unsafe(`CREATE TABLE kept.${name} AS TABLE public.${name}`);
  }
  return {
    async restore() {
      const all = tables.map(({ name }) => `public.${name}`).join(', ');
      await sql.unsafe(`TRUNCATE ${all}`);
      for (const { name, columns } of tables) {
        await sql.unsafe(
          `INSERT INTO public.${name} (${columns}) OVERRIDING SYSTEM VALUE
           SELECT ${columns} FROM kept.${name}`,
        );
      }
      const again = index?.definition.replace('UNIQUE INDEX', 'UNIQUE INDEX IF NOT EXISTS');
      await sql.unsafe(again ?? '');
    },
  };
}
