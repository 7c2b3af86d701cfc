import { randomBytes, randomInt } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import type { Drill } from './support/cluster.ts';
import { proveLedger } from './support/proof.ts';
import { DrillFailure, prove, report } from './support/report.ts';
import { waitFor } from './support/wait.ts';

const DAY_SECONDS = 24 * 3600;
const ERASABLE_WITHIN_MS = 90_000;

/** Erases a buyer's data in orders of every end, and searches the whole database for it. */
export async function run(drill: Drill): Promise<void> {
  const canary = `cnry${randomBytes(8).toString('hex')}`;
  const digits = String(randomInt(10 ** 9, 10 ** 10));
  const email = `${canary}@example.com`;
  const buyer = {
    buyerEmail: email,
    buyerPhone: `+91${digits}`,
    buyerName: `Asha ${canary}`,
    description: `Blue kurta for ${canary}`,
  };
  const create = () => createOrder(drill, buyer);
  const [completed, refunded, cancelled, open] = await Promise.all([
    create(),
    create(),
    create(),
    create(),
  ]);
  await complete(drill, completed, canary);
  await refund(drill, refunded, canary);
  await cancel(drill, cancelled, canary);
  await untilErasable(drill, [completed, refunded, cancelled]);
  const find = () => drill.withSql((sql) => search(sql, [canary, digits]));
  const before = await find();
  prove('Tables have the data of the buyer', before.length >= 4, before.join(', '));

  const reason = ['--reason', 'Request 4711'];
  const erase = ['buyer', 'erase', '--email', email, ...reason];
  const refused = await refusal(drill, ...erase);
  prove('An open order is refused', refused.includes('ACCEPTED, which is not final'));
  await cancel(drill, open, canary);
  await untilErasable(drill, [open]);
  report(await drill.admin(...erase));
  const after = await find();
  prove('No table has the data', after.length === 0, after.join(', '));

  const [delivery] = JSON.parse(
    await drill.admin('delivery', 'list', '--order', refunded, '--json'),
  ) as { deliveryId: string }[];
  const deliveryId = delivery?.deliveryId ?? '';
  const resend = await refusal(drill, 'delivery', 'retry', '--delivery', deliveryId);
  prove('A webhook of an erased order cannot be sent again', resend.includes('was erased'));
  await drill.admin('order', 'recover', '--all');
  const recovered = await find();
  prove('A recovery brings nothing back', recovered.length === 0, recovered.join(', '));
  await proveLedger(drill);
}

/** Makes a call that must succeed. */
async function call({ merchant }: Drill, path: string, body: object) {
  const { status, message, data } = await merchant.client.untilAnswered({
    method: 'POST',
    path,
    body,
  });
  if (data === null || status >= 300) throw new DrillFailure(`${path}: ${status} ${message}`);
  return data;
}

const createOrder = async (drill: Drill, buyer: object) =>
  (await call(drill, '/orders', { amount: 499.5, ...buyer })).order_number;

async function complete(drill: Drill, orderNumber: string, canary: string): Promise<void> {
  await call(drill, `/test-helpers/orders/${orderNumber}/pay`, {});
  await call(drill, `/orders/${orderNumber}/deliver`, { note: `Left with ${canary}` });
  const day = { seconds: DAY_SECONDS };
  await call(drill, `/test-helpers/orders/${orderNumber}/advance`, day);
}

async function refund(drill: Drill, orderNumber: string, canary: string): Promise<void> {
  await call(drill, `/test-helpers/orders/${orderNumber}/pay`, {});
  const dispute = { reason: `${canary} says that it never came` };
  await call(drill, `/test-helpers/orders/${orderNumber}/dispute`, dispute);
  await call(drill, `/orders/${orderNumber}/dispute/accept`, {});
}

async function cancel(drill: Drill, orderNumber: string, canary: string): Promise<void> {
  await call(drill, `/orders/${orderNumber}/cancel`, { reason: `${canary} asked for it` });
}

/** Waits until nothing needs the data of the orders any more. */
function untilErasable({ withSql }: Drill, orderNumbers: string[]): Promise<unknown> {
  return waitFor('nothing needs the data of the orders', ERASABLE_WITHIN_MS, () =>
    withSql(async (sql) => {
      const open = await sql`
        SELECT FROM orders o WHERE order_number = ANY (${orderNumbers})
          AND EXISTS (SELECT FROM reasons_to_keep(o))`;
      return open.length === 0;
    }),
  );
}

/** Why an operators' command failed. @throws DrillFailure when it did not */
async function refusal(drill: Drill, ...args: string[]): Promise<string> {
  const printed = await drill.admin(...args).then(
    () => undefined,
    (error: Error) => error.message,
  );
  if (printed === undefined) throw new DrillFailure(`admin ${args.join(' ')} was not refused`);
  return printed;
}

/** The tables that have one of the texts in any column. */
async function search(sql: Sql, texts: readonly string[]): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`;
  const forms = texts.flatMap((text) => [text, Buffer.from(text).toString('hex')]);
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await sql`
      SELECT FROM ${sql(name)} t, unnest(${forms}::text[]) AS form
      WHERE strpos(lower(t::text), form) > 0 LIMIT 1`;
    if (rows.length > 0) found.push(name);
  }
  return found;
}
