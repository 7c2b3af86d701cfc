import { createCanaries } from '../canaries/canary.ts';
import { tablesOf } from '../canaries/places.ts';
import { searchPlaces } from '../canaries/report.ts';
import { continueOrders, makeOrders, type Drill } from './support/load.ts';
import { proveLedger } from './support/proof.ts';
import { prove, report, waitFor } from './support/report.ts';

const ERASABLE_WITHIN_MS = 90_000;

/** Erases a buyer's data in orders of every end, and searches the whole database for it. */
export async function erasure(run: Drill): Promise<void> {
  const canaries = createCanaries();
  const name = canaries.word('a text about the buyer');
  const texts: Record<string, string> = {
    buyerEmail: `${name}@example.com`,
    buyerPhone: canaries.phone('phone'),
  };
  const isOfMerchant = (place: string) => /^Idempotency-Key$|trackingId$/.test(place);
  const text = (place: string, usual: string) =>
    texts[place] ?? (isOfMerchant(place) ? usual : `${usual} for ${name}`);
  const drill = { ...run, deps: { ...run.deps, marks: { text, headers: () => ({}) } } };
  const orders = await makeOrders(drill, 4, ['completed', 'refunded', 'cancelled', 'accepted'], 4);
  const open = orders.filter(({ kind }) => kind === 'accepted');
  const ended = orders.filter(({ kind }) => kind !== 'accepted').map((one) => one.orderNumber);
  await untilErasable(drill, ended);
  const database = new URL(drill.cluster.databaseUrl).pathname.slice(1);
  const find = async () => {
    const tables = await tablesOf(drill.cluster.adminDatabaseUrl, database);
    const { found } = await searchPlaces('tables', tables, canaries);
    return [...new Set(found.map(({ place }) => place))];
  };
  const before = await find();
  prove('Tables have the data of the buyer', before.length >= 4, before.join(', '));

  const reason = ['--reason', 'Request 4711'];
  const erase = ['buyer', 'erase', '--email', texts['buyerEmail'] ?? '', ...reason];
  const refused = await refusal(drill, ...erase);
  prove('An open order is refused', refused.includes('ACCEPTED, which is not final'));
  await continueOrders(open, 1);
  await untilErasable(drill, [open[0]?.orderNumber ?? '']);
  report(await drill.admin(...erase));
  const after = await find();
  prove('No table has the data', after.length === 0, after.join(', '));

  const listed = await drill.admin('delivery', 'list', '--order', ended[1] ?? '', '--json');
  const [delivery] = JSON.parse(listed) as { deliveryId: string }[];
  const deliveryId = delivery?.deliveryId ?? '';
  const resend = await refusal(drill, 'delivery', 'retry', '--delivery', deliveryId);
  prove('A webhook of an erased order cannot be sent again', resend.includes('was erased'));
  await drill.admin('order', 'recover', '--all');
  const recovered = await find();
  prove('A recovery brings nothing back', recovered.length === 0, recovered.join(', '));
  await proveLedger(drill);
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

/** Why an operators' command failed. @throws Error when it did not */
async function refusal(drill: Drill, ...args: string[]): Promise<string> {
  const printed = await drill.admin(...args).then(
    () => undefined,
    (error: Error) => error.message,
  );
  if (printed === undefined) throw new Error(`admin ${args.join(' ')} was not refused`);
  return printed;
}
