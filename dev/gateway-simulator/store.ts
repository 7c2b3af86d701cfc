import type { Dispute, LinkedAccount, Payment, QrCode, Refund, Transfer } from './entities.ts';
import { openJournal } from './journal.ts';

/** A refusal for good, until it is lifted. */
export interface Refusal {
  id: string;
  operation: 'refund' | 'transfer';
  /** A payment or a linked account; null for every one. */
  subjectId: string | null;
  description: string;
  isActive: boolean;
}

/** A callback with the very bytes that every delivery of it sends. */
export interface CallbackEvent {
  id: string;
  name: string;
  body: string;
  state: 'held' | 'waiting' | 'delivered' | 'failed' | 'dropped';
  attempts: number;
  /** Of the last attempt: a status code, or why there was none. */
  lastOutcome: string | null;
}

/** Everything that survives a restart. Each entity knows its children, so no list is searched. */
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
  accounts: { entity: LinkedAccount };
  /** What was answered under an `X-Refund-Idempotency`, and to which body. */
  idempotencyKeys: { bodyHash: string; refundId: string };
  /** The platform's own money: captured, not refunded, not transferred. One row, `platform`. */
  balances: { paise: number };
  refusals: Refusal;
  events: CallbackEvent;
}
export type Table = keyof Tables;
export type Row<Name extends Table> = Tables[Name];

/** Rows to write together, or not at all. */
export type Changes = { readonly [Name in Table]?: Readonly<Record<string, Tables[Name]>> };

type Maps = { readonly [Name in Table]: Map<string, Tables[Name]> };

export interface Store {
  get<Name extends Table>(table: Name, id: string): Tables[Name] | undefined;
  /** The oldest first. */
  all<Name extends Table>(table: Name): Tables[Name][];
  /** @throws Error when it could not be written down: then nothing has changed. */
  commit(changes: Changes): void;
  /** The same for what a power cut may take back. */
  commitLightly(changes: Changes): void;
  close(): void;
}

function emptyMaps(): Maps {
  return {
    qrCodes: new Map(),
    payments: new Map(),
    refunds: new Map(),
    disputes: new Map(),
    transfers: new Map(),
    accounts: new Map(),
    idempotencyKeys: new Map(),
    balances: new Map(),
    refusals: new Map(),
    events: new Map(),
  };
}

const tableNames = (maps: Maps) => Object.keys(maps) as Table[];

function applyTable<Name extends Table>(
  map: Map<string, Tables[Name]>,
  rows: Readonly<Record<string, Tables[Name]>> = {},
): void {
  for (const [id, row] of Object.entries(rows)) map.set(id, row);
}

function* linesOf(maps: Maps): Generator<string> {
  for (const table of tableNames(maps)) {
    for (const [id, row] of maps[table]) yield JSON.stringify({ [table]: { [id]: row } });
  }
}

/** The simulator's whole state, in memory, with a journal behind it. */
export function openStore(dataFile: string | undefined): Store {
  const maps = emptyMaps();
  const apply = (changes: Changes) => {
    for (const table of tableNames(maps)) applyTable(maps[table], changes[table]);
  };
  const journal = openJournal(
    dataFile,
    (line) => apply(JSON.parse(line) as Changes),
    () => linesOf(maps),
  );
  const commit = (changes: Changes, kept: boolean) => {
    journal.append(JSON.stringify(changes), kept);
    apply(changes);
  };
  return {
    get: (table, id) => maps[table].get(id),
    all: (table) => [...maps[table].values()],
    commit: (changes) => commit(changes, true),
    commitLightly: (changes) => commit(changes, false),
    close: () => journal.close(),
  };
}
