/** Every kind of alert, with what an operator does about it. */
export const ALERT_KINDS = {
  callback_not_understood:
    'Read the body in the table gateway_callbacks: the gateway may have changed its format.',
  clock_skew: "Set this machine's clock right. No webhook is sent until then.",
  charged_back:
    "Answer the bank in the dashboard of the gateway. The order's funds are not released meanwhile. Once it is lost, end the order with admin order settle --released or --refunded.",
  delivery_unknown:
    'None, if its order was recovered: the step is written again, and its webhook is sent under the former event id. Else run admin order recover --all.',
  gateway_refused:
    "Read the gateway's reason with admin order show. Mend its cause and run admin order retry, or move the money outside the gateway and run admin order settle.",
  no_gateway: 'Configure the gateway of this environment: the settings *_RAZORPAY_*.',
  no_linked_account: 'Give the merchant a linked account: admin merchant approve --linked-account.',
  order_behind:
    'None: the lost steps are written again. The database was restored from a backup, so run admin order recover --all.',
  order_without_row:
    'Find out why the database has lost the order: its workflow holds what it knows, and waits unless it has ended. Restore the row, or see to the money at the gateway and terminate the workflow.',
  payment_without_order: 'Find the payment in the dashboard of the gateway, and refund it there.',
  unfit_capture:
    'Compare the payment with the order in the dashboard of the gateway. What is left of it there, refund there: the service moves none of it, and its order waits for another payment.',
  refunded_at_gateway:
    "Find out who has refunded the payment in the dashboard of the gateway, and why. The order's funds are not released. Refund the rest with admin order refund, or end the order with admin order settle --released or --refunded.",
  release_blocked:
    'Some of the payment was refunded or charged back at the gateway: admin order show. End the order with admin order settle --released or --refunded; a chargeback that is won lets the release go on by itself.',
  step_not_recorded:
    'Read the error: the database is away, or it refuses the step for good. The order goes on by itself once the cause is mended.',
  surplus_capture: 'None: the capture is refunded, and the alert is cleared when it has been.',
  workflow_missing:
    "None: the order's workflow was started again. Find out why it was gone: terminated by hand, or Temporal restored from a backup.",
  wrong_amount: 'None: the capture is refunded, and the alert is cleared when it has been.',
} as const satisfies Record<string, string>;

export type AlertKind = keyof typeof ALERT_KINDS;
