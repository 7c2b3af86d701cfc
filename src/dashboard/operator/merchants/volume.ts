import type { ComponentChildren } from 'preact';
import type { Sql } from '../../../db/client.ts';
import { readMoneyDays } from '../../../ledger/public.ts';
import type { OrderVolume } from '../../../orders/public.ts';
import { readOrderVolume } from '../../../orders/public.ts';
import { numberText } from '../../../pages/format.ts';
import { addDays, todayInIndia } from '../../money/period.ts';
import { money, section } from '../../view/parts.ts';
import { dataTable } from '../../view/table.ts';

const RECENT_DAYS = 30;

interface Volume extends OrderVolume {
  paidPaise: number;
  refundedPaise: number;
}

export interface MerchantVolume {
  recent: Volume;
  all: Volume;
}

export async function readVolume(sql: Sql, merchantId: string): Promise<MerchantVolume> {
  const owner = { merchantId, environment: 'production' } as const;
  const today = todayInIndia();
  const from = addDays(today, 1 - RECENT_DAYS);
  const [orders, days] = await Promise.all([
    readOrderVolume(sql, owner, { from, end: addDays(today, 1) }),
    readMoneyDays(sql, owner),
  ]);
  const sumsOf = (chosen: typeof days) => ({
    paidPaise: chosen.reduce((sum, { paidPaise }) => sum + paidPaise, 0),
    refundedPaise: chosen.reduce((sum, { refundedPaise }) => sum + refundedPaise, 0),
  });
  return {
    recent: { ...orders.recent, ...sumsOf(days.filter(({ day }) => day >= from)) },
    all: { ...orders.all, ...sumsOf(days) },
  };
}

const SHARE = new Intl.NumberFormat('en-IN', { style: 'percent', maximumFractionDigits: 2 });
/** The share in percent of the paid orders; a dash without paid orders. */
const shareOf = (part: number, { paidOrders }: Volume) =>
  paidOrders === 0 ? '–' : SHARE.format(part / paidOrders);

export function volumeSection({ recent, all }: MerchantVolume) {
  const figures: [string, (one: Volume) => ComponentChildren][] = [
    ['Paid orders', (one) => numberText(one.paidOrders)],
    ['Paid', (one) => money(one.paidPaise)],
    ['Disputes', (one) => numberText(one.disputes)],
    ['Disputes per paid order', (one) => shareOf(one.disputes, one)],
    ['Refunded orders', (one) => numberText(one.refundedOrders)],
    ['Refunded', (one) => money(one.refundedPaise)],
  ];
  return section(
    'volume',
    'Production',
    dataTable({
      caption: 'What the merchant has taken in production',
      isCompact: true,
      rows: all.paidOrders === 0 ? [] : figures,
      empty: 'No order was paid in production yet.',
      columns: {
        Figure: ([title]) => title,
        'In all': { isNumber: true, cell: ([, textOf]) => textOf(all) },
        [`The last ${RECENT_DAYS} days`]: { isNumber: true, cell: ([, textOf]) => textOf(recent) },
      },
    }),
  );
}
