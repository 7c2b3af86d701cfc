import type { Sql } from '../../db/client.ts';
import { csvOf } from '../../http/responses/csv.ts';
import { markErased } from '../erased.ts';
import type { OrderRow } from '../rows.ts';
import type { MerchantSearch, OrderOwner } from './search-orders.ts';
import { searchOrders } from './search-orders.ts';

const ROWS_PER_PART = 1000;

/** Rupees with two decimals, as spreadsheets read them: no sign and no grouping. */
const rupees = (amountPaise: number | null) =>
  amountPaise === null ? '' : (amountPaise / 100).toFixed(2);
/** ISO-8601 in UTC. */
const time = (at: Date | null) => at?.toISOString() ?? '';

/** The columns of the file, in their order. An absent value is empty. */
const COLUMNS = {
  order_number: (row) => row.orderNumber,
  merchant_order_id: (row) => row.merchantOrderId ?? '',
  status: (row) => row.status,
  amount: (row) => rupees(row.amountPaise),
  description: (row) => row.description,
  buyer_name: (row) => row.buyerName,
  buyer_email: (row) => row.buyerEmail,
  buyer_phone: (row) => row.buyerPhone,
  created_at: (row) => time(row.createdAt),
  paid_at: (row) => time(row.paidAt),
  utr: (row) => row.paymentUtr ?? '',
  dispute_raised_at: (row) => time(row.disputeRaisedAt),
  dispute_reason: (row) => row.disputeReason ?? '',
  dispute_ended_at: (row) => time(row.disputeEndedAt),
  refund_amount: (row) => rupees(row.refundAmountPaise),
  refund_reason: (row) => row.refundReason ?? '',
  refund_processed_at: (row) => time(row.refundProcessedAt),
  cancelled_at: (row) => time(row.cancelledAt),
  updated_at: (row) => time(row.updatedAt),
} as const satisfies Record<string, (row: OrderRow) => string>;

/**
 * Writes the found orders as CSV, newest first: UTF-8, and no cell that a spreadsheet takes for a
 * formula. It reads a thousand orders at a time, each when the reader asks for more, so neither memory
 * nor a connection is held, and no statement grows with the number of orders.
 */
export async function* ordersCsv(
  sql: Sql,
  owner: OrderOwner,
  search: MerchantSearch,
  rowsPerPart = ROWS_PER_PART,
): AsyncGenerator<string> {
  yield csvOf([Object.keys(COLUMNS)]);
  let before: string | undefined;
  for (;;) {
    const { orders, hasMore } = await searchOrders(sql, owner, search, {
      before,
      limit: rowsPerPart,
    });
    if (orders.length > 0) yield csvOf(orders.map(cellsOf));
    if (!hasMore) return;
    before = orders.at(-1)?.orderNumber;
  }
}

const cellsOf = (row: OrderRow) => Object.values(COLUMNS).map((cell) => cell(markErased(row)));
