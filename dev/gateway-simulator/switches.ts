import { z } from 'zod';
import { type Transfer, badRequest } from './state/entities.ts';
import { requireRow, type Row, type Store } from './state/store.ts';

/** What has the switches. */
interface Stored {
  readonly store: Store;
}

/** What a switch can be set for, beside everything: the tables of payments, accounts and QR codes. */
const SUBJECT_TABLES = ['payments', 'accounts', 'qrCodes'] as const;
type SubjectTable = (typeof SUBJECT_TABLES)[number];

interface Switch<Value> {
  values: z.ZodType<Value>;
  byDefault: Value;
  /** Where the switch has an effect; without a table it can only be set for `all`. */
  tables: readonly SubjectTable[];
}

const define = <Value>(
  values: z.ZodType<Value>,
  byDefault: Value,
  tables: readonly SubjectTable[] = SUBJECT_TABLES,
): Switch<Value> => ({ values, byDefault, tables });
const isOn = (byDefault: boolean, tables?: readonly SubjectTable[]) =>
  define(z.boolean(), byDefault, tables);

/**
 * Every switch with its values and its default. The comments have its meaning and, after it, the page of
 * Razorpay's documents that describes the behaviour.
 */
const SWITCHES = {
  /** Refunds stay pending until a control call ends them. api/refunds/entity */
  refundsStartPending: isOn(false),
  /** Refunds are refused as those of a payment that is too old. payments/refunds/errors */
  refundsRefused: isOn(false),
  /** When false, `X-Refund-Idempotency` is ignored. api/refunds/normal-refunds-idempotent */
  honourIdempotencyKeys: isOn(true),
  /** How many POSTs with one idempotency key answer 409 first. api/refunds/normal-refunds-idempotent */
  refundsInProgress: define(z.number().int().min(0), 0),
  /** The status that a transfer has after the response. payments/route/transfer-funds-to-linked-accounts */
  transfersStay: define(z.enum(['processed', 'pending', 'failed']), 'processed'),
  /** Transfers are refused, also their release, as those to a closed account. No page has the description. */
  transfersRefused: isOn(false),
  /** The name of a transfer's status: the entity's page has another one. api/payments/route/transfers-entity */
  transferStatusField: define(z.enum(['status', 'transfer_status']), 'status'),
  /** Fees of captures and transfers. api/payments/entity, payments/route/transfer-fees-example */
  fees: isOn(false),
  /** Accounts that are new or not activated receive no transfers. payments/route/faqs */
  newAccountsWait: isOn(false),
  /** Whether released transfers are settled. payments/route/schedule-settlement */
  settlements: define(z.enum(['none', 't_plus_2']), 'none'),
  /** The notes of a payment by QR code. webhooks/qr-codes, api/qr-codes/fetch-payments */
  paymentNotes: define(z.enum(['copied', 'none', 'empty_list']), 'copied'),
  /** "A dynamic array": an empty one is a list. api/payments/entity */
  acquirerData: define(z.enum(['rrn', 'empty_list']), 'rrn'),
  /** Payments wait for a capture. payments/payments/capture-settings */
  paymentsStartAuthorized: isOn(false, ['qrCodes']),
  /** The least time until `close_by`. 2: api/qr-codes/create, 15: api/qr-codes/entity */
  closeByMinutes: define(z.union([z.literal(2), z.literal(15)]), 2, []),
  /** The description with which new QR codes are refused. errors/common: a feature is not enabled */
  qrCodesRefused: define(z.string().min(1).nullable(), null, []),
  /** Whether QR codes have `image_content`, a feature on request. api/qr-codes/image-content */
  imageContent: isOn(true, ['qrCodes']),
  /** What becomes of unknown query parameters. api/qr-codes/fetch-payment-id */
  unknownQuery: define(z.enum(['ignored', 'refused']), 'ignored'),
  /** Lists have a new object only later. No page promises that lists are up to date. */
  listsLag: isOn(false),
  /** A callback that has failed for good disables all of them. webhooks/best-practices */
  disableCallbacks: isOn(false, []),
};

type SwitchName = keyof typeof SWITCHES;
type SwitchValues = { [Name in SwitchName]: (typeof SWITCHES)[Name]['byDefault'] };
/** The switches that are set for a subject. */
export type SwitchSettings = Partial<SwitchValues>;

/** The subject of the switches that apply to everything. */
const ALL = 'all';

const change = z.strictObject(
  Object.fromEntries(
    Object.entries<Switch<unknown>>(SWITCHES).map(([name, { values }]) => [name, values.nullish()]),
  ),
);

function assertHasEffect({ store }: Stored, subject: string, names: string[]): void {
  if (subject === ALL) return;
  const table = SUBJECT_TABLES.find((candidate) => store.get(candidate, subject) !== undefined);
  if (table === undefined) throw badRequest('The id provided does not exist');
  const useless = names.find((name) => !SWITCHES[name as SwitchName].tables.includes(table));
  if (useless !== undefined) throw badRequest(`${useless} has no effect on ${subject} alone`);
}

/**
 * Changes the switches of a payment, a linked account, a QR code or `all`, also after a restart.
 *
 * @param input switches by name; null removes one
 * @returns the switches that are now set for the subject
 * @throws RazorpayError 400 for an unknown subject, and for a switch that has no effect on it alone
 */
export function setSwitches(stored: Stored, subject: string, input: unknown): SwitchSettings {
  const changes = change.parse(input);
  assertHasEffect(stored, subject, Object.keys(changes));
  const all = { ...stored.store.get('switches', subject)?.settings, ...changes };
  const settings = Object.fromEntries(Object.entries(all).filter(([, value]) => value != null));
  stored.store.commit({ switches: { [subject]: { subject, settings } } });
  return settings;
}

/** What is set, by subject. */
export function switchesBySubject({ store }: Stored): Record<string, SwitchSettings> {
  const set = store.all('switches').filter(({ settings }) => Object.keys(settings).length > 0);
  return Object.fromEntries(set.map(({ subject, settings }) => [subject, settings]));
}

/** The default of every switch. */
export const SWITCH_DEFAULTS = Object.fromEntries(
  Object.entries(SWITCHES).map(([name, { byDefault }]) => [name, byDefault]),
) as SwitchValues;

/** The value of a switch for the given subjects, the most specific one first. */
export function switchOf<Name extends SwitchName>(
  { store }: Stored,
  name: Name,
  subjects: readonly string[] = [],
): SwitchValues[Name] {
  for (const subject of [...subjects, ALL]) {
    const settings: SwitchSettings | undefined = store.get('switches', subject)?.settings;
    const value = settings?.[name];
    if (value !== undefined) return value;
  }
  return SWITCH_DEFAULTS[name];
}

/** The subjects of a payment: itself, the accounts of its transfers, and its QR code. */
export function subjectsOfPayment(
  stored: Stored,
  { entity, transferIds, qrCodeId }: Row<'payments'>,
): string[] {
  const transfers = transferIds.map((id) => requireRow(stored, 'transfers', id).entity);
  return [entity.id, ...transfers.map(({ recipient }) => recipient), qrCodeId];
}

/** The subjects of a transfer: its payment, its account, and the QR code of the payment. */
export function subjectsOfTransfer(
  stored: Stored,
  { source, recipient }: Pick<Transfer, 'source' | 'recipient'>,
): string[] {
  return [source, recipient, requireRow(stored, 'payments', source).qrCodeId];
}
