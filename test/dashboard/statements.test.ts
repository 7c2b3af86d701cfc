import { expect } from 'vitest';
import { rupeesText } from '../../src/pages/format.ts';
import { writeRandomMoney } from '../ledger/random-money.ts';
import { csvText, indianDay, wholeStatement } from '../ledger/statement-proof.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', worker: false, callbacks: false });

/** 2026-11-22T10:00:00.123Z as 2026-11-22 15:30:00. */
const inIndia = (time: string) =>
  new Date(Date.parse(time) + 330 * 60_000).toISOString().slice(0, 19).replace('T', ' ');
const pageOf = (query: string) => `/dashboard/sandbox/statements${query}`;
const links = (body: string, rel: string) =>
  Array.from(body.matchAll(/<a [^>]*>/g), ([tag]) => tag)
    .filter((tag) => tag.includes(`rel="${rel}"`))
    .map((tag) => (/href="([^"]+)"/.exec(tag)?.[1] ?? '').replaceAll('&amp;', '&'));

test("a day's page has its balances, totals and every movement, and leads to the days beside it", async ({
  service,
  merchant,
  owner,
}) => {
  const { merchantId, sandbox } = merchant;
  await writeRandomMoney(service, [merchantId], { count: 150, first: indianDay(2), days: 2 });
  const day = indianDay(1);
  const statement = await wholeStatement(sandbox, day);
  expect(statement.lines.length).toBeGreaterThan(50);
  const seen: string[] = [];
  for (let next: string | undefined = pageOf(`?day=${day}`); next !== undefined;) {
    const { status, body } = await owner.get(next);
    expect(status).toBe(200);
    for (const balance of [statement.opening_balance, statement.closing_balance]) {
      expect(body).toContain(rupeesText(Math.round(balance * 100)));
    }
    const paid = statement.lines.filter(({ type }) => type === 'paid');
    const paise = paid.reduce((sum, { amount }) => sum + Math.round(amount * 100), 0);
    expect(body).toContain(rupeesText(paise));
    seen.push(...Array.from(body.matchAll(/<code title="(pay_\w+)"/g), ([, id = '']) => id));
    next = links(body, 'next').find((to) => to.includes('page='));
  }
  expect(seen).toEqual(statement.lines.map(({ gateway_payment_id }) => gateway_payment_id));

  const { body } = await owner.get(pageOf(`?day=${day}`));
  expect(links(body, 'prev')).toEqual([pageOf(`?day=${indianDay(2)}`)]);
  expect(links(body, 'next')[0]).toBe(pageOf(`?day=${indianDay(0)}`));
  const today = await owner.get(pageOf(''));
  expect(links(today.body, 'next')).toEqual([]);
  expect(today.body).toContain('>Open<');
});

test('the file is that of the API, with Indian times and with references that spreadsheets leave alone', async ({
  service,
  merchant,
  owner,
}) => {
  const file = await owner.get(`/dashboard/sandbox/statements.csv?day=${indianDay(1)}`);
  expect(file.headers.get('content-disposition')).toBe(
    `attachment; filename="statement-sandbox-${indianDay(1)}.csv"`,
  );
  const forPrograms = await csvText(service, merchant, 'sandbox', indianDay(1));
  const cellsOf = (text: string) =>
    text

      .split('\r\n')
      .map((row) => row.replaceAll('"', '').split(','));
  const [[, ...rows], [names = [], ...expected]] = [cellsOf(file.body), cellsOf(forPrograms)];
  const forPerson = (cell: string, name = '') => {
    if (/^(booked|happened)_at$/.test(name) && cell !== '') return inIndia(cell);
    return /^(merchant_order_id|utr|payout_utr)$/.test(name) && cell !== '' ? `=${cell}` : cell;
  };
  expect(rows.length).toBeGreaterThan(2);
  expect(rows).toEqual(
    expected.map((cells) => cells.map((cell, index) => forPerson(cell, names[index]))),
  );
});

test('what is no day is named in the form, and a day to come is not found', async ({ owner }) => {
  const wrong = await owner.get(pageOf('?day=2026-02-30'));
  expect([wrong.status, wrong.body.includes('must be a day such as')]).toEqual([400, true]);
  for (const below of ['statements', 'statements.csv']) {
    const { status } = await owner.get(`/dashboard/sandbox/${below}?day=${indianDay(-2)}`);
    expect(status).toBe(404);
  }
});
