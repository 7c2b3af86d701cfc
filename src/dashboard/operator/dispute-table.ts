import { h } from 'preact';
import type { WithMerchantName } from '../../merchants/public.ts';
import type { RunningDispute } from '../../orders/public.ts';
import { money, orderStatus } from '../view/parts.ts';
import { shortId, shortMoment } from '../view/short-texts.ts';
import { dataTable } from '../view/table.ts';
import { merchantIn } from './parts.ts';

/** Running disputes, the nearest deadline first. */
export function disputeTable(disputes: readonly WithMerchantName<RunningDispute>[], empty: string) {
  return dataTable({
    caption: 'Disputes by their deadline',
    isCompact: true,
    rows: disputes,
    empty,
    columns: [
      { title: 'Until', cell: ({ respondBy }) => shortMoment(respondBy) },
      {
        title: 'Order',
        cell: ({ orderNumber }) =>
          shortId('order number', orderNumber, `/operator/disputes/${orderNumber}`),
      },
      {
        title: 'Status',
        cell: ({ status, isRefunding, disputeCount }) => [
          orderStatus(status),
          h(
            'span',
            { class: 'hint' },
            isRefunding && ' Refunding',
            disputeCount > 1 && ` Dispute ${disputeCount}`,
          ),
        ],
      },
      { title: 'Amount', isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
      { title: 'Raised', cell: ({ raisedAt }) => shortMoment(raisedAt) },
      { title: 'Merchant', isLine: true, cell: merchantIn },
    ],
  });
}
