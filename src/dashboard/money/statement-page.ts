import { Readable } from 'node:stream';
import { h } from 'preact';
import { z } from 'zod';
import type { Sql } from '../../db/client.ts';
import type { LineTotal, LineType, StatementLine, StatementPage } from '../../ledger/public.ts';
import {
  daySchema,
  LINE_TYPES,
  readStatement,
  readStatementTotals,
  statementCsv,
} from '../../ledger/public.ts';
import { countText, rupeesText } from '../../pages/format.ts';
import { pagesOf } from '../page.ts';
import { filterForm, textField } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import type { PageChoice } from '../view/pages.ts';
import { emptyText, pageFields, pages } from '../view/pages.ts';
import { below, csvLink, figures, money, section, tag } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortId, shortMoment, shortOrder } from '../view/texts.ts';
import { link, pathWith } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import { addDays, dayText, todayInIndia, WRONG_DAY } from './period.ts';

const statementPage = pagesOf<{ sql: Sql }, 'merchant'>('merchant');

export const statementPages = [
  statementPage('GET /statements', {
    query: z.object({ day: z.string().optional(), page: pageFields.page, size: pageFields.size }),
  }).handledBy(async ({ viewer, query }, deps) => {
    const today = todayInIndia();
    const typed = query.day || today;
    const day = daySchema.safeParse(typed);
    if (!day.success) return { status: 400, view: wrongDay(viewer, typed) };
    const owner = ownerOf(viewer);
    const { page, size } = query;
    const [statement, totals] = await Promise.all([
      readStatement(deps.sql, owner, day.data, { skip: (page - 1) * size, size }),
      readStatementTotals(deps.sql, owner, day.data),
    ]);
    const shown = { day: day.data, today, chosen: { page, size } };
    return { view: statementView(viewer, shown, statement, totals) };
  }),
  statementPage('GET /statements.csv', {
    query: z.object({ day: daySchema.default(() => todayInIndia()) }),
  }).handledBy(async ({ viewer, query: { day } }, { sql }) => {
    const name = `statement-${viewer.environment}-${day}.csv`;
    return {
      file: Readable.from(await statementCsv(sql, ownerOf(viewer), day, { reader: 'person' })),
      contentType: 'text/csv',
      headers: { 'Content-Disposition': `attachment; filename="${name}"` },
    };
  }),
];

const TITLE = 'Statements';

const dayForm = (viewer: MerchantViewer, day: string, violation?: string) =>
  filterForm(
    pathOf(viewer, '/statements'),
    { values: { day }, violations: { day: violation } },
    textField({ name: 'day', label: 'Day in India', type: 'date' }),
  );

const wrongDay = (viewer: MerchantViewer, typed: string): View => ({
  title: TITLE,
  content: dayForm(viewer, typed, WRONG_DAY),
});

interface Shown {
  day: string;
  today: string;
  chosen: PageChoice;
}

function statementView(
  viewer: MerchantViewer,
  shown: Shown,
  { lines, isClosed, ...balances }: StatementPage,
  totals: readonly LineTotal[],
): View {
  const { day, chosen } = shown;
  const count = totals.reduce((sum, { lineCount }) => sum + lineCount, 0);
  const total = { count, isMore: false };
  const path = pathOf(viewer, '/statements');
  return {
    title: TITLE,
    beside: csvLink(pathWith(`${path}.csv`, { day }), 'Save this day as CSV'),
    content: [
      h('div', { class: 'toolbar' }, dayForm(viewer, day), otherDays(path, shown)),
      section(
        'day',
        dayText(day),
        h(
          'p',
          null,
          isClosed
            ? [tag('good', 'Closed'), ' Nothing will be added to this day any more.']
            : [
                tag('wait', 'Open'),
                ' Lines are added until some minutes after the end of the day.',
              ],
        ),
        dayFigures(balances, totals),
      ),
      section('lines', 'Every movement', linesTable(viewer, shown, lines)),
      pages({ path, filters: { day }, chosen, shown: lines.length, total }),
    ],
  };
}

const SMALL = 'button small';

function otherDays(path: string, { day, today }: Shown) {
  const before = addDays(day, -1);
  const after = addDays(day, 1);
  return h(
    'nav',
    { class: 'actions', 'aria-label': 'Days' },
    link(pathWith(path, { day: before }), `← ${dayText(before)}`, { rel: 'prev', class: SMALL }),
    after <= today &&
      link(pathWith(path, { day: after }), `${dayText(after)} →`, { rel: 'next', class: SMALL }),
  );
}

const TYPE_TITLES = {
  paid: 'Paid',
  released: 'Released to you',
  paid_out: 'Paid out to your bank',
  refunded: 'Refunded',
  refund_failed: 'Refund failed',
  reversed: 'Refunded at the gateway',
  charged_back: 'Charged back',
  covered: 'Held again',
} as const satisfies Record<LineType, string>;

/** What was held at the beginning, each kind of movement, and what was held at the end. */
function dayFigures(
  { openingPaise, closingPaise }: Pick<StatementPage, 'openingPaise' | 'closingPaise'>,
  totals: readonly LineTotal[],
) {
  const moved = LINE_TYPES.flatMap((type) => totals.filter((total) => total.type === type));
  return figures({
    'Held at the beginning': money(openingPaise),
    ...Object.fromEntries(
      moved.map(({ type, amountPaise, lineCount }) => [
        TYPE_TITLES[type],
        [money(amountPaise), below(countText(lineCount, 'movement'))],
      ]),
    ),
    'Held at the end': money(closingPaise),
  });
}

/** "+₹499.50" or "−₹499.50", as a movement changes what is held. */
function changeText(paise: number): string {
  if (paise === 0) return rupeesText(0);
  return `${paise > 0 ? '+' : '−'}${rupeesText(Math.abs(paise))}`;
}

function linesTable(viewer: MerchantViewer, { chosen }: Shown, lines: readonly StatementLine[]) {
  return dataTable({
    caption: 'The movements of the day, in the order of their booking',
    empty: emptyText(chosen, 'There are none.'),
    isCompact: true,
    rows: lines,
    columns: {
      Kind: ({ type }: StatementLine) => TYPE_TITLES[type],
      Order: (line: StatementLine) =>
        shortOrder(pathOf(viewer, `/orders/${encodeURIComponent(line.orderNumber)}`), line),
      Booked: ({ bookedAt }: StatementLine) => shortMoment(bookedAt),
      'At the gateway': gatewayIds,
      Amount: { isNumber: true, cell: ({ amountPaise }: StatementLine) => money(amountPaise) },
      'Change of held': {
        isNumber: true,
        cell: ({ balanceChangePaise }: StatementLine) =>
          h('span', { class: 'money' }, changeText(balanceChangePaise)),
      },
    },
  });
}

/** The payment, and what has moved it; the UTR of the payment itself, or of the payout. */
function gatewayIds(line: StatementLine) {
  const { gatewayPaymentId, gatewayTransferId, gatewayRefundId, gatewayChargebackId } = line;
  const { gatewayPayoutId } = line;
  const utr = line.utr ?? line.payoutUtr;
  const movement = gatewayTransferId ?? gatewayRefundId ?? gatewayChargebackId;
  return [
    shortId('payment id', gatewayPaymentId),
    movement && [h('br', null), shortId('id of the movement', movement)],
    gatewayPayoutId && [h('br', null), shortId('payout id', gatewayPayoutId)],
    utr && [h('br', null), h('span', { class: 'hint' }, 'UTR ', h('code', null, utr))],
  ];
}
