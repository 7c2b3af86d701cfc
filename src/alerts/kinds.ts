/** Every kind of alert, with the operator's remedy. */
export const ALERT_KINDS = {
  break_glass_used:
    'Read the line break-glass of the audit list: who did what alone on the command line, and why. Ask that operator, and clear the alert once it is understood. If it was not that operator: disable the operator, and undo the act.',
  callback_not_understood:
    'Read the body in the table gateway_callbacks: the gateway may have changed its format.',
  clock_skew:
    "Set this machine's clock right. No webhook is sent until then. The alert is cleared once the clock of a worker agrees.",
  charged_back:
    "Answer the bank in the dashboard of the gateway. The order's funds are neither released nor refunded meanwhile. Once it is lost, propose a settlement on the order's page, as released or refunded; of a completed order, the platform has paid it: clear the alert.",
  delivery_unknown:
    'None, if its order was recovered: the step is recorded again, and its webhook is sent under the former event id. Else run admin order recover --all. The alert is cleared once the webhook is recorded.',
  gateway_balance_low:
    "Add funds to the platform's balance in the dashboard of the gateway: at most the amount that the alert names, because the gateway does not report the balance. What waits is made within a minute; the alert is then cleared.",
  gateway_differs:
    'Compare the payment in the dashboard of the gateway with admin order show, and move no money of it until the cause is found. Of an order that is settled outside, the gateway has moved the money too. The comparison of the next day clears the alert once both agree.',
  gateway_not_understood:
    'Compare the answer with the documents of the gateway: it may have changed its format or added a status. Nothing is concluded from such an answer, and the service asks again until the adapter understands it. An item of a list from which nothing follows is left out.',
  gateway_refused:
    "Read the gateway's reason with admin order show. Fix its cause and run admin order retry, or move the money outside the gateway and propose the settlement on the order's page.",
  ledger_fault:
    'Read the faults on the ledger page or with admin ledger verify. Each names an order or a payment: compare it with the dashboard of the gateway, and move no money of it until the cause is found. The alert is cleared by the next proof without a fault.',
  linked_account_unusable:
    "Find the reason in the dashboard of the gateway, and correct it there; or propose another account on the merchant's page, which is active after 72 hours. The service asks the gateway every hour, and clears the alert once the account receives transfers.",
  mail_failed:
    'Read the failure in the alert. The content of the mail is deleted: fix the cause, and have its sender send it again.',
  mail_not_configured:
    'Set SMTP_URL and MAIL_FROM for the worker. Mails of the last 24 hours are sent then.',
  no_gateway:
    'Configure the gateway for this environment: the settings that the alert names. The alert is cleared once a payment session has opened.',
  no_linked_account:
    'Read on the page of the merchant, or with admin merchant list, what is wrong with its linked account. Propose one there that receives transfers: the alert is cleared then.',
  order_behind:
    'None: the lost steps are recorded again. The database was restored from a backup, so run admin order recover --all.',
  order_without_row:
    'Find out why the database has lost the order. Its workflow still has the state of the order, and waits unless it has ended. Restore the row, or settle the payment at the gateway and terminate the workflow.',
  payment_unconfirmed:
    'Find the payment in the dashboard of the gateway. The service asks the gateway every minute for a week, and applies the payment once it is confirmed.',
  payment_without_order:
    'The database may have lost the order: run admin order recover --all, which clears the alert if it finds the order. Else find the payment in the dashboard of the gateway, and refund it there.',
  unfit_capture:
    'Compare the payment with the order in the dashboard of the gateway. Refund the rest of the payment there: the service does not move it, and its order takes no other payment meanwhile. The alert is cleared once all of it was refunded.',
  refunded_at_gateway:
    "Find out who has refunded the payment in the dashboard of the gateway, and why. The order's funds are not released. Refund the rest on the order's page of the dashboard, or propose a settlement there, as released or refunded. The alert is cleared once all of the payment was refunded and the order no longer counts on it.",
  refund_failed:
    "None: the refund is made again, and the alert is cleared when it has been. If it fails again, find the bank's reason in the dashboard of the gateway, send the money back outside the gateway and propose the settlement on the order's page, as refunded.",
  release_blocked:
    "Some of the payment was refunded or charged back at the gateway: admin order show. Propose a settlement on the order's page, as released or refunded; once a chargeback is won, the release continues by itself.",
  session_refused:
    "Read the gateway's reason: a feature of the account may be missing. Ask the gateway to enable it. The alert is cleared once a payment session has opened.",
  proposal_near_deadline:
    'Approve or reject the proposal before the deadline that the alert names: a proposal does not stop it. The alert is cleared once the proposal has ended.',
  proposal_not_carried_out:
    'Read the error. The act is tried again every half minute, and is done once; the alert is cleared when it is. If it was refused, propose it again or leave it, and clear the alert.',
  step_not_recorded:
    'Read the error: the database is unavailable, or it refuses the step permanently. The order continues by itself once the cause is fixed.',
  surplus_capture: 'None: the capture is refunded, and the alert is cleared when it has been.',
  transfer_recipient_differs:
    "Stop the payouts of the account that the alert names in the dashboard of the gateway, reverse the transfer there, and find out who made it: the service makes transfers only to the account that was active when the payment was captured. Then move the money outside the gateway and propose the settlement on the order's page. The comparison clears the alert when no transfer goes to another account.",
  workflow_missing:
    "None: the order's workflow was started again. Find out why it was missing: terminated by an operator, or Temporal restored from a backup.",
  wrong_amount: 'None: the capture is refunded, and the alert is cleared when it has been.',
} as const satisfies Record<string, string>;

export type AlertKind = keyof typeof ALERT_KINDS;
