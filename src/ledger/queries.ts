import type { Sql } from '../db/client.ts';
import type { Environment, OrderStatus } from '../domain/index.ts';
import * as rules from './rules.ts';

/** The accounts of the double-entry ledger. Each environment has its own set. */
export type LedgerAccount =
  | 'gateway_clearing'
  | 'merchant_held'
  | 'merchant_available'
  | 'surplus'
  | 'refunds'
  /** What the platform paid for lost chargebacks. */
  | 'platform_losses'
  /** What the gateway charged the platform. */
  | 'gateway_fees';

/** The balance of an account, and the balance that follows from orders, surplus and reversals. */
export interface AccountBalance {
  environment: Environment;
  account: LedgerAccount;
  balancePaise: number;
  expectedPaise: number;
}

/** A contradiction between the ledger and the other tables. */
export interface LedgerFault {
  rule: string;
  /** An order number, `<gateway>:<id>` of a payment or reversal, or a merchant's day. */
  subject: string;
  fault: string;
}

/** Everything that {@link verifyLedger} checks, read at one moment. */
export interface LedgerSnapshot {
  accounts: AccountBalance[];
  lineCount: number;
  orderCount: number;
  captureCount: number;
  /** Recent captures without a line. They are not faults yet. */
  capturesUnderWay: number;
  /** Captures without a line: in another currency, or refunded before an order applied them. */
  unfitCaptureCount: number;
  surplusCount: number;
  /** Refunds and chargebacks made at the gateway itself. */
  reversalCount: number;
  outsideSettlementCount: number;
  faultCount: number;
  faults: LedgerFault[];
}

/**
 * Reads the ledger and the tables that it is checked against in one statement, so in one database snapshot. With
 * several statements, an order paid between two of them would look like a fault.
 */
export async function readLedgerSnapshot(sql: Sql, maxFaults: number): Promise<LedgerSnapshot> {
  const [snapshot] = await sql<LedgerSnapshot[]>`
    WITH lines AS MATERIALIZED (${rules.linesOfPayments(sql)}),
    faults AS MATERIALIZED (
      ${rules.captureFaults(sql)} UNION ALL ${rules.lineFaults(sql)}
      UNION ALL ${rules.orderFaults(sql)} UNION ALL ${rules.ownerFaults(sql)}
      UNION ALL ${rules.surplusFaults(sql)} UNION ALL ${rules.reversalFaults(sql)}
      UNION ALL ${rules.feeFaults(sql)} UNION ALL ${rules.dayFaults(sql)}
    )
    SELECT
      (SELECT json_agg(balance) FROM (${balances(sql)}) balance) AS accounts,
      (SELECT count(*) FROM ledger_transfers) AS line_count,
      (SELECT count(*) FROM shared.orders) AS order_count,
      (SELECT count(*) FROM shared.payments) AS capture_count,
      (SELECT count(*) FROM shared.payments p WHERE ${rules.isUnderWay(sql)} AND NOT EXISTS (
        SELECT FROM lines l WHERE l.gateway = p.gateway
          AND l.gateway_payment_id = p.gateway_payment_id)
      ) AS captures_under_way,
      (SELECT count(*) FROM shared.payments WHERE NOT is_whole) AS unfit_capture_count,
      (SELECT count(*) FROM shared.surplus_refunds) AS surplus_count,
      (SELECT count(*) FROM shared.gateway_reversals) AS reversal_count,
      (SELECT count(*) FROM shared.outside_settlements) AS outside_settlement_count,
      (SELECT count(*) FROM faults) AS fault_count,
      (SELECT coalesce(json_agg(found), '[]') FROM (
        SELECT * FROM faults ORDER BY rule, subject LIMIT ${maxFaults}) found) AS faults`;
  if (!snapshot) throw new Error('An aggregate query returns a row');
  return snapshot;
}

/**
 * The balances of both environments. The money that came in equals the sum of the other accounts. Two names are
 * quoted because the caller reads JSON, whose keys are not converted to camel case.
 */
function balances(sql: Sql) {
  return sql`
    WITH expected AS (${rules.expectedBalances(sql)}), sums AS (
      SELECT environment, account, sum(paise) AS paise FROM (
        SELECT environment, credit_account AS account, amount_paise AS paise FROM ledger_transfers
        UNION ALL SELECT environment, debit_account, -amount_paise FROM ledger_transfers
      ) sides GROUP BY environment, account
    )
    SELECT environment, account, coalesce(s.paise, 0)::bigint AS "balancePaise",
      coalesce(CASE WHEN account = 'gateway_clearing'
        THEN (SELECT -sum(e.paise) FROM expected e WHERE e.environment = environments.environment)
        ELSE e.paise END, 0)::bigint AS "expectedPaise"
    FROM unnest(enum_range(NULL::environment)) environments (environment)
    CROSS JOIN unnest(enum_range(NULL::ledger_account)) accounts (account)
    LEFT JOIN sums s USING (environment, account)
    LEFT JOIN (SELECT environment, account::ledger_account, paise FROM expected) e
      USING (environment, account)
    ORDER BY environment, account`;
}

/** A line of the ledger: a transfer between two accounts. */
export interface LedgerLine {
  at: Date;
  operation:
    | 'capture'
    | 'release'
    | 'refund'
    | 'refund_failed'
    | 'reversal'
    | 'loss'
    | 'recovered'
    | 'covered'
    | 'payment_fee'
    | 'transfer_fee';
  from: LedgerAccount;
  to: LedgerAccount;
  amountPaise: number;
  gatewayPaymentId: string;
}

export interface LedgerOrder {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  status: OrderStatus;
  amountPaise: number;
  gatewayPaymentId: string | null;
  outsideReference: string | null;
}

export async function findLedgerOrder(
  sql: Sql,
  orderNumber: string,
): Promise<LedgerOrder | undefined> {
  const [row] = await sql<LedgerOrder[]>`
    SELECT o.order_number, o.merchant_id, o.environment, o.status, o.amount_paise,
      o.gateway_payment_id, s.reference AS outside_reference
    FROM shared.orders o LEFT JOIN shared.outside_settlements s USING (order_number)
    WHERE o.order_number = ${orderNumber}`;
  return row;
}

/** Lists the lines of an order, including its surplus, oldest first. */
export async function listLines(sql: Sql, orderNumber: string): Promise<LedgerLine[]> {
  return sql<LedgerLine[]>`
    SELECT at, operation, debit_account AS from, credit_account AS to, amount_paise,
      gateway_payment_id
    FROM ledger_transfers WHERE order_number = ${orderNumber} ORDER BY transfer_id`;
}
