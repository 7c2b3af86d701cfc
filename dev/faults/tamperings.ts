import type { Check } from '../load/oracle/report.ts';

/** A change of the database. */
export interface Tampering {
  readonly name: string;
  /** A part of what the check says. */
  readonly says: string;
  /** Statements, run without triggers and foreign keys. */
  readonly statements: string;
}

const COMPLETED = `(SELECT min(order_number) FROM orders WHERE status = 'COMPLETED')`;
const EVENT = `(SELECT min(event_id) FROM order_events WHERE order_number = ${COMPLETED})`;
const DELIVERY = `(SELECT min(delivery_id) FROM webhook_deliveries WHERE state = 'DELIVERED')`;
const FAILED = `(SELECT min(delivery_id) FROM webhook_deliveries WHERE state = 'FAILED')`;

const HELD = `(SELECT min(gateway_payment_id) FROM payments
  WHERE environment = 'production' AND held_at IS NOT NULL)`;
const OPERATOR = 'second@operators.example';

/** Changes of the database, by the check that must find each. */
export const TAMPERINGS: Partial<Record<Check, readonly Tampering[]>> = {
  people: [
    {
      name: 'the account of a payment in production is another one',
      says: 'a transfer went to',
      statements: `UPDATE payments SET linked_account_id = 'acc_other' WHERE gateway_payment_id = ${HELD}`,
    },
    {
      name: 'no proposal of an account was carried out',
      says: 'had approved its account',
      statements: `UPDATE proposals SET outcome = 'refused' WHERE kind = 'merchant.linkedAccount' AND outcome = 'done'`,
    },
    {
      name: 'an account became active after the capture',
      says: 'was active at its capture',
      statements: `UPDATE linked_account_changes SET active_from = 'infinity' WHERE environment = 'production'`,
    },
    {
      name: 'an operator has approved the own proposal',
      says: 'without the approval of another operator',
      statements: `ALTER TABLE proposals DROP CONSTRAINT IF EXISTS proposals_check1;
        UPDATE proposals SET decided_by = proposed_by WHERE outcome = 'done'`,
    },
    {
      name: 'an act alone has no line',
      says: 'and not with --break-glass',
      statements: `DELETE FROM audit_log WHERE action = 'break-glass'`,
    },
    {
      name: 'an act alone has no alert',
      says: 'there is no alert',
      statements: `DELETE FROM alerts WHERE kind = 'break_glass_used'`,
    },
    {
      name: 'an operator who was disabled yesterday got no mail about an act alone',
      says: 'without a mail to lately@operators.example',
      statements: `INSERT INTO users (user_id, email, operator_role, created_at, disabled_at)
        VALUES ('usr_lately', 'lately@operators.example', 'support', now() - interval '1 day', now() - interval '1 day')`,
    },
    {
      name: 'the line of a command is deleted',
      says: 'DELIVERY_CONFIRMED, has 0 lines',
      statements: `DELETE FROM order_commands WHERE order_number = ${COMPLETED} AND name = 'deliver'`,
    },
    {
      name: 'a command has two lines',
      says: 'DELIVERY_CONFIRMED, has 2 lines',
      statements: `UPDATE order_steps SET is_line = true
        WHERE order_number = ${COMPLETED} AND kind = 'DELIVERY_CONFIRMED'`,
    },
    {
      name: 'a command has no outcome',
      says: 'is WAITING, and has 1 steps',
      statements: `UPDATE order_commands SET state = 'WAITING' WHERE order_number = ${COMPLETED} AND name = 'deliver'`,
    },
    {
      name: 'a command was given with the key of another merchant',
      says: 'the command deliver of key:mk_other is DONE',
      statements: `UPDATE order_commands SET actor = 'key:mk_other' WHERE order_number = ${COMPLETED} AND name = 'deliver'`,
    },
    {
      name: 'an operator approves after the loss of the role',
      says: 'had lost the role for it',
      statements: `INSERT INTO audit_log (audit_id, actor, action, details) OVERRIDING SYSTEM VALUE
        VALUES (0, 'x', 'operator.role', '{"email": "${OPERATOR}", "role": "support"}')`,
    },
  ],
  lost: [
    {
      name: 'an order is deleted',
      says: 'its creation was acknowledged',
      statements: `DELETE FROM order_steps WHERE order_number = ${COMPLETED};
        DELETE FROM order_events WHERE order_number = ${COMPLETED};
        DELETE FROM orders WHERE order_number = ${COMPLETED}`,
    },
    {
      name: 'a command has no step',
      says: 'deliver was acknowledged, and has no step',
      statements: `UPDATE order_steps SET command_id = 'cmd_other'
        WHERE order_number = ${COMPLETED} AND kind = 'DELIVERY_CONFIRMED'`,
    },
    {
      name: 'a payment is deleted',
      says: 'the service does not have it',
      statements: `DELETE FROM payments WHERE order_number = ${COMPLETED}`,
    },
  ],
  duplicate: [
    {
      name: 'a key has another order',
      says: 'never sent its key',
      statements: `CREATE TEMP TABLE twin AS SELECT * FROM orders WHERE order_number = ${COMPLETED};
        UPDATE twin SET order_number = 'ORD00000000000000000000000', payment_token = 'twin',
          idempotency_key = 'twin';
        INSERT INTO orders SELECT * FROM twin; DROP TABLE twin`,
    },
    {
      name: 'a command has two steps',
      says: 'deliver has the steps',
      statements: `DROP INDEX order_steps_by_command; UPDATE order_steps SET command_id =
        (SELECT command_id FROM order_steps WHERE order_number = ${COMPLETED} AND kind = 'DELIVERY_CONFIRMED')
        WHERE order_number = ${COMPLETED} AND kind = 'RELEASE_STARTED'`,
    },
  ],
  illegal: [
    {
      name: 'a step is missing',
      says: 'and the steps',
      statements: `DELETE FROM order_steps
        WHERE order_number = ${COMPLETED} AND kind = 'DELIVERY_CONFIRMED'`,
    },
    {
      name: 'a paid order was cancelled',
      says: 'is not legal after',
      statements: `UPDATE order_steps SET kind = 'ORDER_CANCELLED', status = 'CANCELLED',
          step = step || '{"kind": "ORDER_CANCELLED", "status": "CANCELLED"}'
        WHERE order_number = ${COMPLETED} AND kind = 'ORDER_COMPLETED';
        UPDATE orders SET status = 'CANCELLED' WHERE order_number = ${COMPLETED}`,
    },
    {
      name: 'a row is not at its last step',
      says: 'its row says',
      statements: `UPDATE orders SET status = 'DELIVERED' WHERE order_number = ${COMPLETED}`,
    },
  ],
  status: [
    {
      name: 'an order is in another status',
      says: 'and must be COMPLETED',
      statements: `UPDATE orders SET status = 'REFUNDED' WHERE order_number = ${COMPLETED}`,
    },
  ],
  event: [
    {
      name: 'an event is missing',
      says: 'its steps have the events',
      statements: `DELETE FROM webhook_deliveries WHERE event_id = ${EVENT};
        DELETE FROM order_events WHERE event_id = ${EVENT}`,
    },
    {
      name: 'the sequence of events has a gap',
      says: 'its steps have the events',
      statements: `UPDATE order_events SET sequence = 99 WHERE event_id = ${EVENT}`,
    },
  ],
  delivery: [
    {
      name: 'the bytes of an event have changed',
      says: 'other bytes',
      statements: `UPDATE order_events SET body = body || ' ' WHERE event_id =
        (SELECT event_id FROM webhook_deliveries WHERE delivery_id = ${DELIVERY})`,
    },
    {
      name: 'a delivery is still pending',
      says: 'is PENDING',
      statements: `UPDATE webhook_deliveries SET state = 'PENDING' WHERE delivery_id = ${DELIVERY}`,
    },
    {
      name: 'a delivery is DELIVERED, and its endpoint never accepted it',
      says: 'its endpoint accepted none',
      statements: `UPDATE webhook_attempts SET error = NULL WHERE delivery_id = ${FAILED};
        UPDATE webhook_deliveries SET state = 'DELIVERED' WHERE delivery_id = ${FAILED}`,
    },
    {
      name: 'a delivery is FAILED after four attempts',
      says: 'is FAILED after 4',
      statements: `DELETE FROM webhook_attempts WHERE delivery_id = ${FAILED} AND attempt_id =
        (SELECT max(attempt_id) FROM webhook_attempts WHERE delivery_id = ${FAILED})`,
    },
  ],
  mail: [
    {
      name: 'the row of a mail is deleted',
      says: 'there are the mails',
      statements: `DELETE FROM mails WHERE mail_id = (SELECT min(mail_id) FROM mails WHERE kind = 'buyer_receipt')`,
    },
  ],
  ledger: [
    {
      name: 'a ledger line has another amount',
      says: 'account',
      statements: `UPDATE ledger_transfers SET amount_paise = amount_paise + 1
        WHERE order_number = ${COMPLETED} AND operation = 'release'`,
    },
  ],
  gateway: [
    {
      name: 'a release is missing in the ledger',
      says: 'released: ',
      statements: `DELETE FROM ledger_transfers
        WHERE order_number = ${COMPLETED} AND operation = 'release'`,
    },
    {
      name: 'a refund is recorded that the gateway has not made',
      says: '0 refunds, 1 transfers',
      statements: `UPDATE orders SET status = 'REFUNDED' WHERE order_number = ${COMPLETED}`,
    },
  ],
  workflow: [
    {
      name: 'the row has another step number than its workflow',
      says: 'its workflow PAID at step',
      statements: `UPDATE orders SET step_number = step_number + 1
        WHERE order_number = (SELECT min(order_number) FROM orders WHERE status = 'PAID')`,
    },
  ],
  alert: [
    {
      name: 'an alert is open',
      says: 'clock_skew',
      statements: `INSERT INTO alerts (kind, subject, details) VALUES ('clock_skew', 'x', '{"message": "x"}')`,
    },
  ],
};
