import type {
  ACTIVATIONS,
  Dispute,
  LinkedAccount,
  Payment,
  QrCode,
  Refund,
  Transfer,
} from './entities.ts';
import { badRequest } from './entities.ts';
import { openJournal } from './journal.ts';

/** A callback, whose deliveries all send the same bytes. */
export interface CallbackEvent {
  id: string;
  name: string;
  body: string;
  state: 'held' | 'waiting' | 'accepted' | 'failed' | 'dropped';
  attempts: number;
  /** The status code or the error of the last attempt. */
  lastOutcome: string | null;
}

/** The state that survives a restart. Each entity has the ids of its children. */
export interface Tables {
  qrCodes: { entity: QrCode; paymentIds: readonly string[] };
  payments: {
    entity: Payment;
    qrCodeId: string;
    refundIds: readonly string[];
    transferIds: readonly string[];
  };
  refunds: { entity: Refund };
  disputes: { entity: Dispute };
  transfers: { entity: Transfer };
  accounts: {
    entity: LinkedAccount;
    /** `activation_details.status` of the beta API; `activated` if absent. */
    activation?: (typeof ACTIVATIONS)[number];
  };
  /** The refund and the body of each `X-Refund-Idempotency`. */
  idempotencyKeys: { bodyHash: string; refundId: string };
  /** How many requests were refused with an `X-Refund-Idempotency` that "is still in progress". */
  requestsInProgress: { count: number };
  /** `platform`: captured or added, not refunded, not transferred. `added`: what the platform added. */
  balances: { paise: number };
  /** By subject: the id of a payment, a linked account or a QR code, or `all`. */
  switches: { subject: string; settings: Readonly<Record<string, unknown>> };
  events: CallbackEvent;
  /** One row, `service`: whether callbacks are sent. */
  callbackEndpoints: { isDisabled: boolean };
}
/** The name of a table. */
export type Table = keyof Tables;
/** A row of a table. */
export type Row<Name extends Table> = Tables[Name];

/** Rows to write atomically. */
export type Changes = { readonly [Name in Table]?: Readonly<Record<string, Tables[Name]>> };

/** Opens the state: in memory, with a journal on disk if `dataFile` is given. */
export function openStore(dataFile: string | undefined) {
  const maps: { [Name in Table]?: Map<string, Tables[Name]> } = {};
  const mapOf = <Name extends Table>(table: Name): Map<string, Tables[Name]> =>
    (maps[table] ??= new Map());
  const apply = (changes: Changes) => {
    for (const table of Object.keys(changes) as Table[]) {
      for (const [id, row] of Object.entries(changes[table] ?? {})) mapOf(table).set(id, row);
    }
  };
  const replay = (line: string) => apply(JSON.parse(line) as Changes);
  const journal = dataFile === undefined ? undefined : openJournal(dataFile, replay);
  return {
    get: <Name extends Table>(table: Name, id: string) => mapOf(table).get(id),
    /** The oldest first. */
    all: <Name extends Table>(table: Name) => [...mapOf(table).values()],
    /** @throws Error when the changes could not be stored: then nothing has changed. */
    commit(changes: Changes): void {
      journal?.append(JSON.stringify(changes));
      apply(changes);
    },
    close: () => journal?.close(),
  };
}

/** The simulator's state. */
export type Store = ReturnType<typeof openStore>;

/** The row with this id. @throws RazorpayError 400 when there is none */
export function requireRow<Name extends Table>(
  { store }: { readonly store: Store },
  table: Name,
  id: string,
): Row<Name> {
  const row = store.get(table, id);
  if (row === undefined) throw badRequest('The id provided does not exist');
  return row;
}
