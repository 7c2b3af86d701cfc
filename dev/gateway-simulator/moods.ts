import type { SwitchSettings } from './switches.ts';

/**
 * What the gateway does for a while in runs of chaos and of the randomised test: switches that are set for
 * `all` and removed again. Each switch is here or in {@link WITHOUT_MOOD}.
 */
export const MOODS = {
  pendingRefunds: { refundsStartPending: true },
  refundsInProgress: { refundsInProgress: 1 },
  pendingTransfers: { transfersStay: 'pending' },
  failedTransfers: { transfersStay: 'failed' },
  otherTransferStatus: { transferStatusField: 'transfer_status' },
  fees: { fees: true },
  paymentsWithoutNotes: { paymentNotes: 'none' },
  emptyListOfNotes: { paymentNotes: 'empty_list' },
  emptyAcquirerData: { acquirerData: 'empty_list' },
  authorizedPayments: { paymentsStartAuthorized: true },
  longSessions: { closeByMinutes: 15 },
  refusedSessions: { qrCodesRefused: 'QR codes are not enabled for the merchant' },
  sessionsWithoutContent: { imageContent: false },
  refusedQueries: { unknownQuery: 'refused' },
  lateLists: { listsLag: true },
  disabledCallbacks: { disableCallbacks: true },
} as const satisfies Record<string, SwitchSettings>;
export type MoodName = keyof typeof MOODS;

/** The switches that no run sets, and why. */
export const WITHOUT_MOOD = {
  honourIdempotencyKeys:
    'Razorpay documents that it honours them; test/payments shows what holds without them',
  refundsRefused:
    'the service retries what was refused after an hour, which is longer than the run',
  transfersRefused: 'the same',
  newAccountsWait:
    'accounts that are made in a run receive nothing for 24 hours, which is longer than the run',
  settlements: 'a transfer is settled two days after it was made, which is longer than the run',
} as const satisfies Partial<Record<keyof SwitchSettings, string>>;
