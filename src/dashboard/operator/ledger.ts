import { h } from 'preact';
import { z } from 'zod';
import type { LedgerProof, ProofSummary } from '../../ledger/public.ts';
import { findLatestProof, listProofs } from '../../ledger/public.ts';
import type { FeesToCome } from '../../payments/public.ts';
import { estimateFeesToCome } from '../../payments/public.ts';
import {
  environmentTag,
  hint,
  moment,
  money,
  notice,
  section,
  tag,
  wordsOf,
} from '../view/parts.ts';
import type { Columns } from '../view/table.ts';
import { dataTable, pager } from '../view/table.ts';
import { shortMoment } from '../view/texts.ts';
import { operatorPage, orderLink, ROWS_PER_PAGE } from './parts.ts';

export const ledgerPage = operatorPage('GET /ledger', {
  query: z.object({
    before: z
      .string()
      .regex(/^\d{1,15}$/)
      .optional(),
  }),
}).handledBy(async ({ query: { before } }, { sql }) => {
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
    hint(
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

/** The balances of an environment with their sum and, if they differ, the expected balances and differences. */
function accountsOf({ environment, sumPaise }: Figures['sums'][number], all: Figures['accounts']) {
  const rows = all.filter((one) => one.environment === environment);
  const differs = rows.some((one) => one.balancePaise !== one.expectedPaise);
  const balances: Columns<Figures['accounts'][number]> = {
    Account: ({ account }) => h('span', { title: account }, wordsOf(account)),
    Balance: { isNumber: true, cell: ({ balancePaise }) => money(balancePaise) },
  };
  const differences: typeof balances = {
    Expected: { isNumber: true, cell: ({ expectedPaise }) => money(expectedPaise) },
    Difference: {
      isNumber: true,
      cell: ({ balancePaise, expectedPaise }) => money(balancePaise - expectedPaise),
    },
  };
  return h(
    'div',
    { key: environment, class: 'said' },
    h('h3', null, environmentTag(environment)),
    dataTable({
      caption: `The balances of the ${environment} accounts`,
      isCompact: true,
      rows,
      empty: 'No account.',
      columns: { ...balances, ...(differs && differences) },
      totals: [{ title: 'Sum', cells: { Balance: money(sumPaise) } }],
    }),
  );
}

/** The platform's balance at the gateway must cover it: docs/go-live.md. */
function feeTable(fees: readonly FeesToCome[]) {
  return [
    hint(
      'With tax, assuming that every order that waits for payment is paid; estimated from the newest 1,000 payments.',
    ),
    dataTable({
      caption: 'Fees of open orders',
      rows: fees,
      empty: 'No order waits for its payment or its transfer.',
      columns: {
        Gateway: ({ gateway, environment }) => [
          h('code', null, gateway),
          ' ',
          environmentTag(environment),
        ],
        'Will still cost': {
          isNumber: true,
          cell: ({ costPaise }) => (costPaise === null ? NOT_KNOWN : money(costPaise)),
        },
        'Not paid yet': { isNumber: true, cell: (row) => money(row.unpaidPaise) },
        'Not transferred yet': { isNumber: true, cell: (row) => money(row.untransferredPaise) },
        'Fee of a payment': { isNumber: true, cell: (row) => percent(row.paymentRate) },
        'Fee of a transfer': { isNumber: true, cell: (row) => percent(row.transferRate) },
      },
    }),
  ];
}

const NOT_KNOWN = 'Not known yet';
const percent = (rate: number | null) =>
  rate === null ? NOT_KNOWN : `${(rate * 100).toFixed(2)}%`;

function faultTable(faults: LedgerProof['faults'], faultCount: number) {
  return [
    faults.length < faultCount && hint(`The first ${faults.length} of them:`),
    dataTable({
      caption: 'What differs',
      rows: faults,
      empty: 'None.',
      columns: {
        Rule: ({ rule }) => rule,
        Subject: ({ subject }) =>
          subject.startsWith('ORD') ? orderLink(subject) : h('code', null, subject),
        Fault: ({ fault }) => fault,
      },
    }),
  ];
}

function proofTable(proofs: readonly ProofSummary[]) {
  return dataTable({
    caption: 'Proofs of the ledger',
    rows: proofs,
    empty: 'None yet: the Schedule verify-ledger makes one every hour.',
    columns: {
      At: ({ at }) => shortMoment(at),
      Result: ({ ok, faultCount }) =>
        ok
          ? tag('good', 'Sound')
          : tag('bad', `${faultCount} ${faultCount === 1 ? 'fault' : 'faults'}`),
      Took: { isNumber: true, cell: ({ durationMs }) => seconds(durationMs) },
      Orders: { isNumber: true, cell: ({ figures }) => figures.orderCount },
    },
  });
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
