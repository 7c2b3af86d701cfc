import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import postgres from 'postgres';
import type { Environment } from '../../src/domain/index.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import type { ProductionLike } from '../production-like/start.ts';
import type { Memory, AcknowledgedOrder } from '../load/memory.ts';
import { checkEverything } from '../load/oracle/check-everything.ts';
import { askSimulator, simulatorAccessOf } from '../load/simulator.ts';
import type { Check } from '../load/oracle/report.ts';
import { receivedMails } from '../mailbox/received.ts';
import { checkedServiceOf } from './run.ts';
import { keepTables } from './tables.ts';
import { TAMPERINGS } from './tamperings.ts';

/** Checks everything, and expects a violation. @param says a part of its text */
type ExpectFound = (name: string, check: Check, says?: string) => Promise<void>;

/** What merchants remember, changed so that a check must find it. */
function falseMemories({
  orders,
  surprises,
  endedRights,
}: Memory): [string, Check, () => () => void][] {
  const order = orders.find(({ commands }) => commands.length > 0);
  const [command] = order?.commands ?? [];
  if (!order || !command) throw new Error('A run has commands');
  const add = <Item>(list: Item[], item: Item) => {
    list.push(item);
    return () => void list.pop();
  };
  const invented: AcknowledgedOrder = {
    merchantId: order.merchantId,
    idempotencyKey: randomUUID(),
    orderNumbers: new Set(['ORD00000000000000000000001']),
    commands: [],
  };
  return [
    ['an order was acknowledged that is not there', 'lost', () => add(orders, invented)],
    [
      'a command was acknowledged that is not there',
      'lost',
      () => add(order.commands, { ...command, idempotencyKey: randomUUID() }),
    ],
    [
      'a refused command has a step',
      'surprise',
      () => add(order.commands, { ...command, result: 'refused' as const }),
    ],
    [
      'a key was answered with two orders',
      'duplicate',
      () => {
        order.orderNumbers.add('ORD00000000000000000000002');
        return () => order.orderNumbers.delete('ORD00000000000000000000002');
      },
    ],
    [
      'a webhook had a wrong signature',
      'surprise',
      () => add(surprises, { subject: 'x', fault: 'x' }),
    ],
    [
      'a right was used after its end',
      'people',
      () => add(endedRights, { right: 'x', endedAtMs: 0, refused: 0, usedAtMs: [1] }),
    ],
  ];
}

/**
 * Shows that each check can fail: changes the database, the memory of merchants, the gateway and Temporal,
 * and expects a check to find it. The service does not run meanwhile, and the run is over
 * afterwards.
 *
 * @returns what was not found
 */
export async function testChecks(
  cluster: ProductionLike,
  acknowledged: Memory,
  print: (line: string) => void,
): Promise<string[]> {
  const missed: string[] = [];
  const service = cluster.members.filter(({ name }) => /^(api|worker)-/.test(name));
  await Promise.all(service.map((member) => member.stop()));
  const checked = checkedServiceOf(cluster);
  const before = await checkEverything(checked, acknowledged);
  if (before.violations.length > 0) return ['The self-test begins without violations'];

  const expectFound: ExpectFound = async (name, check, says = '') => {
    const { violations } = await checkEverything(checked, acknowledged);
    const found = violations.find((one) => one.check === check && one.fault.includes(says));
    print(`${found ? 'found' : 'MISSED'} (${check}): ${name}: ${found?.fault ?? ''}`);
    if (!found) missed.push(`not found by the check ${check}: ${name}`);
  };

  const url = new URL(cluster.adminDatabaseUrl);
  url.pathname = new URL(cluster.migrationDatabaseUrl).pathname;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  try {
    const tables = await keepTables(sql);
    for (const { name, finds, says, statements } of TAMPERINGS) {
      await sql.unsafe(statements).simple();
      await expectFound(name, finds, says);
      await tables.restore();
    }
  } finally {
    await sql.end({ timeout: 1 });
  }
  for (const [name, finds, falsify] of falseMemories(acknowledged)) {
    const undo = falsify();
    await expectFound(name, finds);
    undo();
  }
  const findMail = loseMail(cluster);
  await expectFound('a received mail is lost', 'mail', 'was never received');
  findMail();
  await tamperElsewhere(cluster, acknowledged, expectFound);
  return missed;
}

/** Takes a buyer's mail that arrived once out of the mailbox. @returns how it is put back */
function loseMail({ facts: { environment } }: ProductionLike): () => void {
  const received = receivedMails(environment['DATA_DIR'] ?? '');
  const [, [file = ''] = []] =
    [...received].find(([mailId, files]) => mailId.startsWith('buyer-') && files.length === 1) ??
    [];
  renameSync(file, `${file}.lost`);
  return () => renameSync(`${file}.lost`, file);
}

/** Changes that cannot be undone: a second refund at the gateway, a workflow that is terminated. */
async function tamperElsewhere(
  cluster: ProductionLike,
  { orders }: Memory,
  expectFound: ExpectFound,
): Promise<void> {
  const numberOf = (status: string) =>
    [...(orders.find(({ finalStatus }) => finalStatus === status)?.orderNumbers ?? [])][0] ?? '';
  const { environment } = cluster.facts;
  const namespace = environment['TEMPORAL_NAMESPACE'] ?? 'default';
  const temporal = connectTemporal({ address: cluster.temporalAddress, namespace });
  try {
    await temporal.workflow.getHandle(numberOf('PAID')).terminate('self-test');
    await expectFound('a workflow was terminated', 'workflow');
  } finally {
    await temporal.connection.close();
  }
  const { paymentId, environment: of } = await paymentOf(cluster, numberOf('DELIVERED'));
  const simulator = simulatorAccessOf(cluster.facts, of);
  for (const amountPaise of [100, 101]) {
    const path = `/simulator/payments/${paymentId}/refund`;
    await askSimulator(simulator, 'POST', path, { amountPaise });
  }
  await expectFound('a payment was refunded twice', 'duplicate');
}

interface PaymentOfOrder {
  readonly paymentId: string;
  readonly environment: Environment;
}

async function paymentOf(cluster: ProductionLike, orderNumber: string): Promise<PaymentOfOrder> {
  const sql = postgres(cluster.migrationDatabaseUrl, { max: 1 });
  try {
    const [row] = await sql<PaymentOfOrder[]>`
      SELECT gateway_payment_id AS "paymentId", environment FROM orders
      WHERE order_number = ${orderNumber}`;
    if (!row) throw new Error(`There is no order ${orderNumber}`);
    return row;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
