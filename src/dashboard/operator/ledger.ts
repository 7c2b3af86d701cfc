import { h } from 'preact';
import { z } from 'zod';
import type { Route } from '../../http/define-route.ts';
import type { LedgerProof, ProofSummary } from '../../ledger/public.ts';
import { findLatestProof, listProofs } from '../../ledger/public.ts';
import type { FeesToCome } from '../../payments/public.ts';
import { estimateFeesToCome } from '../../payments/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { environmentTag, moment, money, notice, section, tag, wordsOf } from '../view/parts.ts';
import { shortMoment } from '../view/short-texts.ts';
import type { Column } from '../view/table.ts';
import { dataTable, pager } from '../view/table.ts';
import type { OperatorPageDeps } from './context.ts';
import { ROWS_PER_PAGE } from './context.ts';
import { orderLink } from './parts.ts';

/** The last proof of the ledger with any difference, what open orders will cost, and the earlier proofs. */
export function ledgerPage(context: PageContext, { sql }: OperatorPageDeps): Route[] {
  return definePage(context, {
    audience: 'operator',
    method: 'GET',
    path: '/ledger',
    query: z.object({
      before: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional(),
    }),
  }).handledBy(async ({ query: { before } }) => {
    const olderThan = before === undefined ? undefined : Number(before);
    const [last, fees, { proofs, hasMore }] = await Promise.all([
      findLatestProof(sql),
      estimateFeesToCome(sql),
      listProofs(sql, { olderThan }, ROWS_PER_PAGE),
    ]);
    const next = hasMore ? String(proofs.at(-1)?.proofId) : undefined;
    const content = [
      last ? lastProof(last) : notice('wait', 'The ledger has not been verified yet.'),
      section('fees', 'What the gateway will still charge for open orders', feeTable(fees)),
      section(
        'proofs',
        'Proofs of the last 30 days',
        proofTable(proofs),
        pager('/operator/ledger', {}, { before, next }),
      ),
    ];
    return { view: { title: 'Ledger', content } };
  });
}

function lastProof(proof: LedgerProof) {
  const { at, durationMs, ok, faultCount, faults, figures } = proof;
  return section(
    'last',
    'Last proof',
    ok
      ? notice(
          'good',
          'The ledger is sound: it sums to zero, and agrees with every order and payment.',
        )
      : notice(
          'bad',
          `The ledger is not sound: ${faultCount} ${faultCount === 1 ? 'fault' : 'faults'}.`,
        ),
    h(
      'p',
      { class: 'hint' },
      'Verified ',
      moment(at),
      ` in ${seconds(durationMs)}: ${figures.lineCount} lines, ${figures.orderCount} orders, ` +
        `${figures.captureCount} captures, ${figures.capturesUnderWay} not applied yet.`,
    ),
    !ok && faultTable(faults, faultCount),
    h(
      'div',
      { class: 'columns' },
      figures.sums.map((sum) => accountsOf(sum, figures.accounts)),
    ),
  );
}

type Figures = LedgerProof['figures'];

/** The balances of an environment with their sum, and what differs if anything does. */
function accountsOf({ environment, sumPaise }: Figures['sums'][number], all: Figures['accounts']) {
  const rows = all.filter((one) => one.environment === environment);
  const differs = rows.some((one) => one.balancePaise !== one.expectedPaise);
  const columns: Column<Figures['accounts'][number]>[] = [
    { title: 'Account', cell: ({ account }) => h('span', { title: account }, wordsOf(account)) },
    { title: 'Balance', isNumber: true, cell: ({ balancePaise }) => money(balancePaise) },
    { title: 'Expected', isNumber: true, cell: ({ expectedPaise }) => money(expectedPaise) },
    {
      title: 'Difference',
      isNumber: true,
      cell: ({ balancePaise, expectedPaise }) => money(balancePaise - expectedPaise),
    },
  ];
  return h(
    'div',
    { key: environment, class: 'said' },
    h('h3', null, environmentTag(environment)),
    dataTable({
      caption: `The balances of the ${environment} accounts`,
      isCompact: true,
      rows,
      empty: 'No account.',
      columns: differs ? columns : columns.slice(0, 2),
      totals: [{ title: 'Sum', cells: { Balance: money(sumPaise) } }],
    }),
  );
}

/** The platform's balance at the gateway must cover it: docs/go-live.md. */
function feeTable(fees: readonly FeesToCome[]) {
  return [
    h(
      'p',
      { class: 'hint' },
      'With tax, as if every order that waits for its payment was paid; estimated from the newest 1,000 payments.',
    ),
    dataTable({
      caption: 'Fees of open orders',
      rows: fees,
      empty: 'No order waits for its payment or its transfer.',
      columns: [
        {
          title: 'Gateway',
          cell: ({ gateway, environment }) => [
            h('code', null, gateway),
            ' ',
            environmentTag(environment),
          ],
        },
        {
          title: 'Will still cost',
          isNumber: true,
          cell: ({ costPaise }) => (costPaise === null ? NOT_KNOWN : money(costPaise)),
        },
        { title: 'Not paid yet', isNumber: true, cell: (row) => money(row.unpaidPaise) },
        {
          title: 'Not transferred yet',
          isNumber: true,
          cell: (row) => money(row.untransferredPaise),
        },
        { title: 'Fee of a payment', isNumber: true, cell: (row) => percent(row.paymentRate) },
        { title: 'Fee of a transfer', isNumber: true, cell: (row) => percent(row.transferRate) },
      ],
    }),
  ];
}

const NOT_KNOWN = 'Not known yet';
const percent = (rate: number | null) =>
  rate === null ? NOT_KNOWN : `${(rate * 100).toFixed(2)}%`;

function faultTable(faults: LedgerProof['faults'], faultCount: number) {
  return [
    faults.length < faultCount && h('p', { class: 'hint' }, `The first ${faults.length} of them:`),
    dataTable({
      caption: 'What differs',
      rows: faults,
      empty: 'None.',
      columns: [
        { title: 'Rule', cell: ({ rule }) => rule },
        {
          title: 'Subject',
          cell: ({ subject }) =>
            subject.startsWith('ORD') ? orderLink(subject) : h('code', null, subject),
        },
        { title: 'Fault', cell: ({ fault }) => fault },
      ],
    }),
  ];
}

function proofTable(proofs: readonly ProofSummary[]) {
  return dataTable({
    caption: 'Proofs of the ledger',
    rows: proofs,
    empty: 'None yet: the Schedule verify-ledger makes one every hour.',
    columns: [
      { title: 'At', cell: ({ at }) => shortMoment(at) },
      {
        title: 'Result',
        cell: ({ ok, faultCount }) =>
          ok
            ? tag('good', 'Sound')
            : tag('bad', `${faultCount} ${faultCount === 1 ? 'fault' : 'faults'}`),
      },
      { title: 'Took', isNumber: true, cell: ({ durationMs }) => seconds(durationMs) },
      { title: 'Orders', isNumber: true, cell: ({ figures }) => figures.orderCount },
    ],
  });
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
