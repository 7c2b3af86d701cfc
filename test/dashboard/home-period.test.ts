import { expect } from 'vitest';
import { dayText, readPeriod } from '../../src/dashboard/money/period.ts';
import { rupeesText } from '../../src/pages/format.ts';
import { writeRandomMoney } from '../ledger/random-money.ts';
import { indianDay, indianTime } from '../ledger/statement-proof.ts';
import { merchantUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', worker: false, callbacks: false });
const TODAY = '2026-11-27';

test('a period is the days that are named, and as many before them', () => {
  const periods: [Record<string, string>, string, string, string][] = [
    [{}, '2026-10-29', TODAY, '2026-09-29'],
    [{ from: '2026-11-21', to: TODAY }, '2026-11-21', TODAY, '2026-11-14'],
    [{ from: '2026-11-27' }, TODAY, TODAY, '2026-11-26'],
    [{ from: '2026-02-28', to: '2026-03-01' }, '2026-02-28', '2026-03-01', '2026-02-26'],
    [{ from: '', to: '2026-03-01' }, '2026-01-31', '2026-03-01', '2026-01-01'],
  ];
  for (const [query, from, to, beforeFrom] of periods) {
    const { period, state } = readPeriod(query, TODAY);
    expect({ period, violations: state.violations ?? {} }).toMatchObject({
      period: { from, to, beforeFrom },
      violations: {},
    });
  }
});

test('a period that is none is named in the form, and the usual one is shown', () => {
  const wrong: [Record<string, string>, string][] = [
    [{ from: '2026-02-30', to: TODAY }, 'from'],
    [{ from: 'x' }, 'from'],
    [{ to: '2026-11-28' }, 'to'],
    [{ to: '<b>' }, 'to'],
    [{ from: '2026-11-02', to: '2026-11-01' }, 'from'],
    [{ from: '2026-01-01', to: TODAY }, 'from'],
  ];
  for (const [query, field] of wrong) {
    const { period, state } = readPeriod(query, TODAY);
    expect(Object.keys(state.violations ?? {})).toEqual([field]);
    expect(period.from).toBe('2026-10-29');
  }
});

/** A sum with its change against the days before, both to the paisa. */
function figuresText(title: string, paise: number, beforePaise: number): RegExp {
  if (beforePaise === 0) return new RegExp(`${title}${rupeesText(paise)}`);
  const before = `${rupeesText(beforePaise)} in the 3 days before`;
  if (beforePaise < 0) return new RegExp(`${title}${rupeesText(paise)}${before}`);
  const percent = new Intl.NumberFormat('en-IN', { style: 'percent', maximumFractionDigits: 1 });
  const change = percent.format(Math.abs(paise - beforePaise) / beforePaise);
  const sign = paise < beforePaise ? '▼' : '▲';
  return new RegExp(`${title}${rupeesText(paise)}${sign} ${change}: ${before}`);
}

test('home has the money of the chosen days beside the days before, and what is held, to the paisa', async ({
  service,
  merchant,
  owner,
}) => {
  const { merchantId } = merchant;
  const made = await writeRandomMoney(service, [merchantId], {
    count: 200,
    first: indianDay(5),
    days: 6,
  });
  const own = made.filter(({ environment }) => environment === 'sandbox');
  const sum = (from: number, to: number, types: readonly string[]) =>
    own
      .filter(({ day }) => day >= indianDay(from) && day <= indianDay(to))
      .reduce((paise, one) => paise + (types.includes(one.type) ? one.amountPaise : 0), 0);
  const { status, body } = await owner.get(
    `/dashboard/sandbox?from=${indianDay(2)}&to=${indianDay(0)}`,
  );
  expect(status).toBe(200);
  const texts = body.replaceAll(/<[^>]+>/g, '');
  const returned = ['refunded', 'reversed', 'charged_back'];
  for (const [title, types] of [
    ['Paid', ['paid']],
    ['Released', ['released']],
  ] as const) {
    expect(texts).toMatch(figuresText(title, sum(2, 0, types), sum(5, 3, types)));
  }
  const refunds = [
    [2, 0],
    [5, 3],
  ].map(
    ([from = 0, to = 0]) => sum(from, to, returned) - sum(from, to, ['refund_failed', 'covered']),
  );
  expect(texts).toMatch(figuresText('Refunded', refunds[0] ?? 0, refunds[1] ?? 0));
  const dayPaid = (day: number) =>
    `${dayText(indianDay(day))}: ${rupeesText(sum(day, day, ['paid']))}`;
  expect(body).toContain(`<title>${dayPaid(1)}; ${dayPaid(4)}</title>`);
  const held = own.reduce((paise, one) => paise + one.balanceChangePaise, 0);
  expect(texts).toContain(`Held now${rupeesText(held)}`);
  expect(body).toContain(`href="/dashboard/sandbox/statements?day=${indianDay(1)}"`);

  expect((await owner.get('/dashboard/sandbox?from=2030-01-01')).status).toBe(400);
});

test('home says when held money is released, and how many payments succeeded', async ({
  service,
}) => {
  const { sandbox, merchantId } = await service.newMerchant({ webhooks: false });
  const orders = [];
  for (let index = 0; index < 4; index += 1) orders.push(await sandbox.create());
  const [delivered, paid, disputed, cancelled] = orders.map(({ order_number }) => order_number);
  const set = (order: string | undefined, columns: object) =>
    service.sql`UPDATE orders SET ${service.sql({ ...columns })} WHERE order_number = ${order ?? ''}`;
  await set(delivered, { status: 'DELIVERED', completesAt: indianTime(indianDay(-2), '12:00') });
  await set(paid, { status: 'PAID' });
  await set(disputed, { status: 'DISPUTE_OPEN', reversedPaise: 9_950 });
  await set(cancelled, { status: 'CANCELLED' });
  const browser = browserOf(service.origin, await merchantUser(service.sql, merchantId));
  const texts = (await browser.get('/dashboard/sandbox')).body.replaceAll(/<[^>]+>/g, ' ');
  expect(texts).toMatch(new RegExp(`${dayText(indianDay(-2))}\\s+1 order\\s+₹499.50`));
  expect(texts).toMatch(/After the dispute\s+1 order\s+₹400.00/);
  expect(texts).toContain('3 of 4 orders were paid');
});
