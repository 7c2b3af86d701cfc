import type { Memory } from '../load/memory.ts';
import type { Check } from '../load/oracle/report.ts';
import type { Run } from './run.ts';

/**
 * A part of what the check says, and the change: statements that are run without triggers and foreign keys; or a change
 * of something else than the database, given a copy of the run's memory for this change alone.
 */
export type Tampering = readonly [
  says: string,
  change: string | ((memory: Memory, run: Run) => unknown),
];

/** Changes by the check that must find each, and by name. */
export type Tamperings = Partial<Record<Check, Readonly<Record<string, Tampering>>>>;

/** A completed order that its merchant has delivered: a resolved dispute makes an order DELIVERED, too. */
const COMPLETED = `(SELECT min(o.order_number) FROM orders o JOIN order_commands c USING (order_number)
  WHERE o.status = 'COMPLETED' AND c.name = 'deliver' AND c.actor LIKE 'key:%')`;
const EVENT = `(SELECT min(event_id) FROM order_events WHERE order_number = ${COMPLETED})`;
const DELIVERY = `(SELECT min(delivery_id) FROM webhook_deliveries WHERE state = 'DELIVERED')`;
const FAILED = `(SELECT min(delivery_id) FROM webhook_deliveries WHERE state = 'FAILED')`;

const HELD = `(SELECT min(gateway_payment_id) FROM payments
  WHERE environment = 'production' AND held_at IS NOT NULL)`;

/** Changes of the database. */
export const TAMPERINGS: Tamperings = {
  people: {
    'the account of a payment in production is another one': [
      'a transfer went to',
      `UPDATE payments SET linked_account_id = 'acc_other' WHERE gateway_payment_id = ${HELD}`,
    ],
    'no proposal of an account was carried out': [
      'had approved its account',
      `UPDATE proposals SET outcome = 'refused' WHERE kind = 'merchant.linkedAccount' AND outcome = 'done'`,
    ],
    'an account became active after the capture': [
      'was active at its capture',
      `UPDATE linked_account_changes SET active_from = 'infinity' WHERE environment = 'production'`,
    ],
    'an operator has approved the own proposal': [
      'without the approval of another operator',
      `ALTER TABLE proposals DROP CONSTRAINT IF EXISTS proposals_check1;
        UPDATE proposals SET decided_by = proposed_by WHERE outcome = 'done'`,
    ],
    'an act has no proposal': [
      'was done without a second person',
      `DELETE FROM proposals WHERE kind = 'merchant.linkedAccount'`,
    ],
    'the line of a command is deleted': [
      'DELIVERY_CONFIRMED, has 0 lines',
      `DELETE FROM order_commands WHERE order_number = ${COMPLETED} AND name = 'deliver'`,
    ],
    'a command has two lines': [
      'DELIVERY_CONFIRMED, has 2 lines',
      `UPDATE order_steps SET in_audit_list = true
        WHERE order_number = ${COMPLETED} AND kind = 'DELIVERY_CONFIRMED'`,
    ],
    'a command has no outcome': [
      'is WAITING, and has 1 steps',
      `UPDATE order_commands SET state = 'WAITING' WHERE order_number = ${COMPLETED} AND name = 'deliver'`,
    ],
    'a command was given with the key of another merchant': [
      'the command deliver of key:mk_other is DONE',
      `UPDATE order_commands SET actor = 'key:mk_other' WHERE order_number = ${COMPLETED} AND name = 'deliver'`,
    ],
  },
  lost: {
    'an order is deleted': [
      'its creation was acknowledged',
      `DELETE FROM order_steps WHERE order_number = ${COMPLETED};
        DELETE FROM order_events WHERE order_number = ${COMPLETED};
        DELETE FROM orders WHERE order_number = ${COMPLETED}`,
    ],
    'a command has no step': [
      'deliver was acknowledged, and has no step',
      `UPDATE order_steps SET command_id = 'cmd_other'
        WHERE order_number = ${COMPLETED} AND kind = 'DELIVERY_CONFIRMED'`,
    ],
    'a payment is deleted': [
      'the service does not have it',
      `DELETE FROM payments WHERE order_number = ${COMPLETED}`,
    ],
  },
  duplicate: {
    'a key has another order': [
      'never sent its key',
      `CREATE TEMP TABLE twin AS SELECT * FROM orders WHERE order_number = ${COMPLETED};
        UPDATE twin SET order_number = 'ORD00000000000000000000000', payment_token = 'twin',
          idempotency_key = 'twin';
        INSERT INTO orders SELECT * FROM twin; DROP TABLE twin`,
    ],
    'a command has two steps': [
      'deliver has the steps',
      `DROP INDEX order_steps_by_command; UPDATE order_steps SET command_id =
        (SELECT command_id FROM order_steps WHERE order_number = ${COMPLETED} AND kind = 'DELIVERY_CONFIRMED')
        WHERE order_number = ${COMPLETED} AND kind = 'RELEASE_STARTED'`,
    ],
  },
  illegal: {
    'a step is missing': [
      'is not legal after',
      `DELETE FROM order_steps
        WHERE order_number = ${COMPLETED} AND kind = 'DELIVERY_CONFIRMED'`,
    ],
    'a paid order was cancelled': [
      'is not legal after',
      `UPDATE order_steps SET kind = 'ORDER_CANCELLED', status = 'CANCELLED',
          step = step || '{"kind": "ORDER_CANCELLED", "status": "CANCELLED"}'
        WHERE order_number = ${COMPLETED} AND kind = 'ORDER_COMPLETED';
        UPDATE orders SET status = 'CANCELLED' WHERE order_number = ${COMPLETED}`,
    ],
    'a row is not at its last step': [
      'its row says',
      `UPDATE orders SET status = 'DELIVERED' WHERE order_number = ${COMPLETED}`,
    ],
  },
  status: {
    'an order is in another status': [
      'and must be COMPLETED',
      `UPDATE orders SET status = 'REFUNDED' WHERE order_number = ${COMPLETED}`,
    ],
  },
  event: {
    'an event is missing': [
      'its steps have the events',
      `DELETE FROM webhook_deliveries WHERE event_id = ${EVENT};
        DELETE FROM order_events WHERE event_id = ${EVENT}`,
    ],
    'the sequence of events has a gap': [
      'its steps have the events',
      `UPDATE order_events SET sequence = 99 WHERE event_id = ${EVENT}`,
    ],
  },
  delivery: {
    'the bytes of an event have changed': [
      'other bytes',
      `UPDATE order_events SET body = body || ' ' WHERE event_id =
        (SELECT event_id FROM webhook_deliveries WHERE delivery_id = ${DELIVERY})`,
    ],
    'a delivery is still pending': [
      'is PENDING',
      `UPDATE webhook_deliveries SET state = 'PENDING' WHERE delivery_id = ${DELIVERY}`,
    ],
    'a delivery is DELIVERED, and its endpoint never accepted it': [
      'its endpoint accepted none',
      `UPDATE webhook_attempts SET error = NULL WHERE delivery_id = ${FAILED};
        UPDATE webhook_deliveries SET state = 'DELIVERED' WHERE delivery_id = ${FAILED}`,
    ],
    'a delivery is FAILED after four attempts': [
      'is FAILED after 4',
      `DELETE FROM webhook_attempts WHERE delivery_id = ${FAILED} AND attempt_id =
        (SELECT max(attempt_id) FROM webhook_attempts WHERE delivery_id = ${FAILED})`,
    ],
  },
  ledger: {
    'a ledger line has another amount': [
      'account',
      `UPDATE ledger_transfers SET amount_paise = amount_paise + 1
        WHERE order_number = ${COMPLETED} AND operation = 'release'`,
    ],
  },
  gateway: {
    'a release is missing in the ledger': [
      'released: ',
      `DELETE FROM ledger_transfers
        WHERE order_number = ${COMPLETED} AND operation = 'release'`,
    ],
    'a refund is recorded that the gateway has not made': [
      '0 refunds, 1 transfers',
      `UPDATE orders SET status = 'REFUNDED' WHERE order_number = ${COMPLETED}`,
    ],
  },
  workflow: {
    'the row has another step number than its workflow': [
      'its workflow PAID at step',
      `UPDATE orders SET step_number = step_number + 1
        WHERE order_number = (SELECT min(order_number) FROM orders WHERE status = 'PAID')`,
    ],
  },
  alert: {
    'an alert is open': [
      'clock_skew',
      `INSERT INTO alerts (kind, subject, details) VALUES ('clock_skew', 'x', '{"message": "x"}')`,
    ],
  },
};
