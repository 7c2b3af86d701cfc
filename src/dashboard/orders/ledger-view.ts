import type { RunningLine } from '../../ledger/public.ts';
import { money, section } from '../view/parts.ts';
import { shortMoment } from '../view/short-texts.ts';
import { dataTable } from '../view/table.ts';

const OPERATIONS = {
  capture: 'Paid by the buyer',
  release: 'Released to you',
  refund: 'Refunded to the buyer',
  refund_failed: 'The refund failed, held again',
  reversal: 'Taken back at the gateway',
  loss: 'Taken back at the gateway, paid by the platform',
} as const satisfies Record<RunningLine['operation'], string>;

/** The ledger's lines of one order, and where its money was after each; null if no money has moved. */
export function ledgerSection(lines: readonly RunningLine[], now: Date) {
  if (lines.length === 0) return null;
  const hasSurplus = lines.some(({ surplusPaise }) => surplusPaise !== 0);
  return section(
    'ledger',
    'Ledger',
    dataTable({
      caption: "The ledger's lines, oldest first, with the balances after each",
      empty: 'No money has moved.',
      rows: lines,
      columns: [
        { title: 'At', cell: (line: RunningLine) => shortMoment(line.at, now) },
        { title: 'Line', cell: ({ operation }) => OPERATIONS[operation] },
        { title: 'Amount', isNumber: true, cell: (line) => money(line.amountPaise) },
        { title: 'Held', isNumber: true, cell: (line) => money(line.heldPaise) },
        { title: 'Released', isNumber: true, cell: (line) => money(line.releasedPaise) },
        { title: 'Refunded', isNumber: true, cell: (line) => money(line.refundedPaise) },
        ...(hasSurplus
          ? [
              {
                title: 'Surplus',
                isNumber: true,
                cell: (line: RunningLine) => money(line.surplusPaise),
              },
            ]
          : []),
      ],
    }),
  );
}
