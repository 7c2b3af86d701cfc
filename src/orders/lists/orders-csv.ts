import type { Sql } from '../../db/client.ts';
import { rupeesFromPaise } from '../../domain/index.ts';
import { UTF_8_MARK, csvOf, reference } from '../../http/responses/csv.ts';
import type { CsvCell } from '../../http/responses/csv.ts';
import { markErased } from '../rows.ts';
import type { OrderRow } from '../rows.ts';
import type { MerchantSearch, OrderOwner } from './search-orders.ts';
import { foundQuery, readFound } from './search-orders.ts';
import { tableTimeText } from '../../pages/format.ts';

const ROWS_PER_PART = 1000;

const rupees = (amountPaise: number | null) =>
  amountPaise === null ? '' : rupeesFromPaise(amountPaise);
/** ISO 8601 in UTC. */
const time = (at: Date | null) => at?.toISOString() ?? '';

/** The times of an order's steps, and when its release was booked in the ledger. */
interface StepTimes {
  deliveredAt: Date | null;
  completedAt: Date | null;
  releasedAt: Date | null;
}
type CsvRow = OrderRow & StepTimes;

/** The columns of the file, in order. An absent value is empty. */
const COLUMNS = {
  order_number: (row) => row.orderNumber,
  merchant_order_id: (row) => reference(row.merchantOrderId),
  status: (row) => row.status,
  amount: (row) => rupees(row.amountPaise),
  description: (row) => row.description,
  buyer_name: (row) => row.buyerName,
  buyer_email: (row) => row.buyerEmail,
  buyer_phone: (row) => reference(row.buyerPhone),
  created_at: (row) => time(row.createdAt),
  created_at_ist: (row) => tableTimeText(row.createdAt),
  paid_at: (row) => time(row.paidAt),
  paid_at_ist: (row) => tableTimeText(row.paidAt),
  gateway_payment_id: (row) => row.gatewayPaymentId ?? '',
  utr: (row) => reference(row.paymentUtr),
  delivered_at: (row) => time(row.deliveredAt),
  delivered_at_ist: (row) => tableTimeText(row.deliveredAt),
  completed_at: (row) => time(row.completedAt),
  completed_at_ist: (row) => tableTimeText(row.completedAt),
  released_at: (row) => time(row.releasedAt),
  released_at_ist: (row) => tableTimeText(row.releasedAt),
  dispute_raised_at: (row) => time(row.disputeRaisedAt),
  dispute_raised_at_ist: (row) => tableTimeText(row.disputeRaisedAt),
  dispute_reason: (row) => row.disputeReason ?? '',
  dispute_ended_at: (row) => time(row.disputeEndedAt),
  dispute_ended_at_ist: (row) => tableTimeText(row.disputeEndedAt),
  refund_amount: (row) => rupees(row.refundAmountPaise),
  refund_reason: (row) => row.refundReason ?? '',
  refund_processed_at: (row) => time(row.refundProcessedAt),
  refund_processed_at_ist: (row) => tableTimeText(row.refundProcessedAt),
  cancelled_at: (row) => time(row.cancelledAt),
  cancelled_at_ist: (row) => tableTimeText(row.cancelledAt),
  updated_at: (row) => time(row.updatedAt),
  updated_at_ist: (row) => tableTimeText(row.updatedAt),
} as const satisfies Record<string, (row: CsvRow) => CsvCell>;

/**
 * Writes the found orders as a CSV file for people, newest first. It reads a thousand orders at a time, each when
 * the reader asks for more, so it holds no connection and little memory, and no statement grows with the number of
 * orders.
 */
export async function* ordersCsv(
  sql: Sql,
  owner: OrderOwner,
  search: MerchantSearch,
  rowsPerPart = ROWS_PER_PART,
): AsyncGenerator<string> {
  yield UTF_8_MARK + csvOf([Object.keys(COLUMNS)]);
  let before: string | undefined;
  for (;;) {
    const part = { before, limit: rowsPerPart + 1 };
    const found = await sql<{ orderNumber: string }[]>`${foundQuery(sql, owner, search, part)}`;
    const orders = await readFound(sql, found.slice(0, rowsPerPart));
    if (orders.length > 0) yield csvOf((await withStepTimes(sql, orders)).map(cellsOf));
    if (found.length <= rowsPerPart) return;
    before = orders.at(-1)?.orderNumber;
  }
}

const NO_TIMES: StepTimes = { deliveredAt: null, completedAt: null, releasedAt: null };

/** An order is delivered only once. Its release is booked with its completion, unless nothing was left to release. */
async function withStepTimes(sql: Sql, orders: readonly OrderRow[]): Promise<CsvRow[]> {
  const rows = await sql<(StepTimes & { orderNumber: string })[]>`
    SELECT order_number, s.*,
      (SELECT max(booked_at) FROM shared.ledger_transfers t
        WHERE t.order_number = wanted.order_number AND operation = 'release') AS released_at
    FROM unnest(${orders.map(({ orderNumber }) => orderNumber)}::text[]) AS wanted (order_number)
    CROSS JOIN LATERAL (
      SELECT max(at) FILTER (WHERE kind = 'DELIVERY_CONFIRMED') AS delivered_at,
        max(at) FILTER (WHERE kind = 'ORDER_COMPLETED') AS completed_at
      FROM order_steps WHERE order_number = wanted.order_number) s`;
  const times = new Map(rows.map((row) => [row.orderNumber, row]));
  return orders.map((order) => ({ ...order, ...NO_TIMES, ...times.get(order.orderNumber) }));
}

const cellsOf = (row: CsvRow) => Object.values(COLUMNS).map((cell) => cell(markErased(row)));
