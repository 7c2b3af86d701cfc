import type { StepKind } from '../../domain/index.ts';
import type { CommandAction } from '../../merchants/public.ts';

/** The commands on an order; their outcome is shown beside them. */
const COMMANDS = {
  'order.deliver': 'Marked the order as delivered',
  'order.cancel': 'Cancelled the order',
  'order.refund': 'Refunded the buyer',
  'order.settle': 'Recorded a settlement outside the gateway',
  'order.pay': 'Paid the order with the test helper',
  'order.fail_payment': 'Let a payment fail with the test helper',
  'order.advance': 'Moved the clock of the order with the test helper',
  'dispute.raise': 'Raised a dispute',
  'dispute.evidence': 'Submitted evidence',
  'dispute.resolve': 'Resolved the dispute',
  'dispute.accept': 'Accepted the dispute: the buyer is refunded',
  'dispute.decide': 'Decided the dispute',
  'order.test_late_payment': 'Paid late with the test helper',
  'order.test_second_payment': 'Paid a second time with the test helper',
  'order.test_chargeback': 'Opened a chargeback with the test helper',
  'order.test_fail_refund': 'Let the refund fail with the test helper',
} as const satisfies Record<CommandAction, string>;

/** The steps of an order that no person causes. */
const STEPS = {
  ORDER_CREATED: 'Created the order',
  PAYMENT_SUCCESS: 'Recorded the payment: the order is PAID',
  PAYMENT_FAILED: 'Recorded a failed payment',
  DELIVERY_CONFIRMED: 'Recorded the delivery',
  DISPUTE_RAISED: 'Recorded a dispute',
  DISPUTE_RESOLVED: 'Recorded that the dispute is resolved',
  ORDER_COMPLETED: 'Completed the order',
  REFUND_PROCESSED: 'Recorded the refund',
  ORDER_CANCELLED: 'Cancelled the order at its deadline',
  EVIDENCE_SUBMITTED: 'Recorded the evidence',
  CLOSING_PAYMENT: 'Began to close the payment session',
  PAYMENT_STILL_OPEN: 'Found the payment session still open',
  RELEASE_STARTED: 'Began the release to the merchant',
  REFUND_STARTED: 'Began the refund of the buyer',
  DEADLINE_EXTENDED: 'Extended a deadline that was handled late',
  CLOCK_ADVANCED: 'Moved the clock of the order',
} as const satisfies Record<StepKind, string>;

/** All other actions in `audit_log`. */
const OTHERS = {
  'accountNumber.read': 'Looked at the whole bank account number',
  'alert.clear': 'Cleared an alert',
  'application.document.add': 'Uploaded a document',
  'application.document.remove': 'Removed a document',
  'application.save': 'Edited the application',
  'application.submit': 'Submitted the application',
  'audit.export': 'Saved the audit list as a file',
  'break-glass': 'Did alone on the command line what needs two operators',
  'break-glass.refuse': 'Was refused on the command line: wrong password or code',
  'buyer.search': 'Searched orders, which shows their buyers',
  'buyer.view': 'Looked at an order, which shows its buyer',
  'delivery.resend': 'Sent webhooks again',
  'delivery.retry': 'Sent a webhook again',
  'document.read': 'Looked at a document',
  'invitation.accept': 'Accepted the invitation',
  'key.create': 'Created an API key',
  'key.rotate': 'Rotated the secret of an API key',
  'keys.reseal': 'Encrypted stored values with the new key',
  'mails.choose': 'Chose which mails are sent',
  'merchant.activate': 'Activated the merchant again',
  'merchant.approve': 'Approved the merchant',
  'merchant.create': 'Created the merchant',
  'merchant.invite': 'Invited the merchant to the dashboard',
  'merchant.linkedAccount': 'Set the account that the merchant is paid out to',
  'merchant.reject': 'Rejected the merchant',
  'merchant.suspend': 'Suspended the merchant',
  'operator.create': 'Created an operator',
  'operator.disable': 'Disabled an operator',
  'operator.reactivate': 'Activated an operator again',
  'operator.role': 'Changed the role of an operator',
  'order.erase': "Erased the buyer's data of an order",
  'order.recover': 'Compared the order with its workflow',
  'order.retry': 'Repeated the call to the gateway',
  'orders.export': 'Saved orders as a file',
  'origins.set': 'Changed the websites that buyers may return to',
  'password.change': 'Changed the password',
  'password.request_reset': 'Asked for a link to reset the password',
  'password.reset': 'Reset the password',
  'proposal.approve': 'Approved a proposal',
  'proposal.open': 'Proposed',
  'proposal.reject': 'Rejected a proposal',
  'proposal.withdraw': 'Withdrew a proposal',
  'recovery_codes.create': 'Made new recovery codes',
  'recovery_codes.use': 'Used a recovery code',
  'session.confirm': 'Confirmed the password and the second factor again',
  'session.create': 'Logged in',
  'session.end': 'Logged out, or ended a session',
  'session.refuse': 'Was refused at the log-in',
  'surplus.settle':
    'Recorded a refund outside the gateway of a payment that the order could not take',
  'two_factor.disable': 'Turned two-factor off',
  'two_factor.enable': 'Turned two-factor on',
  'two_factor.reset': 'Reset the two-factor of a user',
  'user.create': 'Signed up',
  'webhook.remove': 'Removed the webhook endpoint',
  'webhook.rotate_secret': 'Rotated the webhook secret',
  'webhook.set': 'Set the webhook endpoint',
  'webhook.test': 'Sent a test webhook',
} as const;

/** Every action of the audit list as what was done, in plain English. */
export const AUDIT_ACTIONS: Readonly<Record<string, string>> = {
  ...COMMANDS,
  ...STEPS,
  ...OTHERS,
};

/** What was done; the code of an action that this version does not know. */
export const actionText = (action: string): string =>
  Object.hasOwn(AUDIT_ACTIONS, action) ? (AUDIT_ACTIONS[action] ?? action) : action;
