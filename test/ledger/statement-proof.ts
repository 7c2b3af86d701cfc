import { expect } from 'vitest';
import type { Environment } from '../../src/domain/index.ts';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { PresentedLine } from '../../src/ledger/statement-presenter.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { ApiClient } from '../support/api-client.ts';
import type { Merchant } from '../support/merchant.ts';
import { repeated } from '../support/repeated.ts';
import { sealEverything } from '../support/seal-ledger.ts';
import type { TestService } from '../support/service.ts';
import type { Movement } from './random-money.ts';
import { writeRandomMoney } from './random-money.ts';

const DAY_MS = 86_400_000;

export interface Statement {
  content: PresentedLine[];
  next: string | null;
  opening_balance: number;
  closing_balance: number;
  closed: boolean;
}

/** The start of all tests of a file: they may run past midnight. */
const STARTED_MS = Date.now();

/** The day in India on which the tests began, or a day before or after it. */
export const indianDay = (daysAgo = 0) =>
  new Date(STARTED_MS + 5.5 * 3_600_000 - daysAgo * DAY_MS).toISOString().slice(0, 10);

export const indianTime = (day: string, time: string) => new Date(`${day}T${time}+05:30`);

export async function statementOf(client: ApiClient, day: string, query = '') {
  const read = () => client.get<Statement>(`/statements/${day}${query}`);
  const { status, body } = await repeated(read);
  expect([status, body.message]).toEqual([200, 'Statement']);
  return body.data;
}

/** All pages of a day. Each has the same balances. */
export async function wholeStatement(client: ApiClient, day: string, size = 100) {
  let page = await statementOf(client, day, `?size=${size}`);
  const { content: lines, next: _, ...head } = page;
  while (page.next !== null) {
    expect(page.content).toHaveLength(size);
    page = await statementOf(client, day, `?size=${size}&after=${page.next}`);
    expect(page).toMatchObject(head);
    lines.push(...page.content);
  }
  return { ...head, lines };
}

type WithKeys = Pick<Merchant, 'keys'>;

/** The CSV of a day. @throws Error that has the status, unless it is 200 */
export async function csvText(
  { origin }: TestService,
  { keys }: WithKeys,
  environment: Environment,
  day: string,
): Promise<string> {
  const { apiKey, apiSecret } = keys[environment];
  const response = await fetch(`${origin}${BASE_PATHS[environment]}/statements/${day}`, {
    headers: { 'X-API-Key': apiKey, 'X-API-Secret': apiSecret, Accept: 'text/csv' },
  });
  if (response.status !== 200) throw new Error(`The CSV of ${day} is ${response.status}`);
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  return response.text();
}

/** The rows of a day's CSV, as objects with the names of its columns. */
export async function csvRows(...of: Parameters<typeof csvText>) {
  const [names = [], ...rows] = (await csvText(...of))
    .trim()
    .split('\r\n')
    .map((row) => row.split(','));
  return rows.map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index]])));
}

/** A line as the CSV has it. */
const asCells = (line: object) =>
  Object.fromEntries(
    Object.entries(line).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'number' ? value.toFixed(2) : (value ?? ''),
    ]),
  );

const paise = (rupees: number) => Math.round(rupees * 100);

/** A line as the gateway's record has it, in a text, because the order of a moment is not known. */
const asText = (...facts: (string | number | null)[]) => facts.join(' ');
const textOfMovement = (one: Movement) =>
  asText(one.type, one.amountPaise, one.balanceChangePaise, one.gatewayPaymentId, one.movementId);
const textOfLine = (line: PresentedLine) =>
  asText(
    line.type,
    paise(line.amount),
    paise(line.credit) - paise(line.debit),
    line.gateway_payment_id,
    line.gateway_transfer_id ?? line.gateway_refund_id ?? line.gateway_chargeback_id,
  );

/**
 * Writes random orders of three merchants over 20 days, and compares every day's statement, in pages and as
 * CSV, with what the gateway has made and with the ledger.
 */
export async function proveStatements(service: TestService, count: number): Promise<void> {
  const days = 20;
  const merchants = await Promise.all(
    [1, 2, 3].map(() => service.newMerchant({ webhooks: false })),
  );
  const ids = merchants.map(({ merchantId }) => merchantId);
  const made = await writeRandomMoney(service, ids, { count, first: indianDay(days), days });
  expect(await verifyLedger(service.sql)).toMatchObject({ ok: true, faults: [] });
  await sealEverything(service.sql);
  await sealEverything(service.sql);

  let lineCount = 0;
  for (const merchant of merchants) {
    for (const environment of ['sandbox', 'production'] as const) {
      const own = made.filter(
        (one) => one.merchantId === merchant.merchantId && one.environment === environment,
      );
      let balancePaise = 0;
      for (let ago = days + 1; ago >= 0; ago -= 1) {
        const day = indianDay(ago);
        const ofDay = own.filter((one) => one.day === day);
        const statement = await wholeStatement(merchant[environment], day);
        expect(paise(statement.opening_balance)).toBe(balancePaise);
        balancePaise += ofDay.reduce((sum, one) => sum + one.balanceChangePaise, 0);
        expect(paise(statement.closing_balance)).toBe(balancePaise);
        expect(statement.lines.map(textOfLine).sort()).toEqual(ofDay.map(textOfMovement).sort());
        const rows = await csvRows(service, merchant, environment, day);
        expect(rows.slice(1, -1)).toEqual(statement.lines.map(asCells));
        expect([rows.at(0)?.amount, rows.at(-1)?.amount]).toEqual([
          statement.opening_balance.toFixed(2),
          statement.closing_balance.toFixed(2),
        ]);
        lineCount += ofDay.length;
      }
    }
  }
  expect(lineCount).toBe(made.length);
  const [ledger] = await service.sql<[{ lines: number; heldPaise: number }]>`
    SELECT count(*) FILTER (WHERE is_merchants_money(debit_account, credit_account)) AS lines,
      sum(CASE 'merchant_held' WHEN credit_account::text THEN amount_paise
        WHEN debit_account::text THEN -amount_paise ELSE 0 END)::bigint AS held_paise
    FROM ledger_transfers`;
  expect(ledger).toEqual({
    lines: made.length,
    heldPaise: made.reduce((sum, one) => sum + one.balanceChangePaise, 0),
  });
}
