const ID_FIELD = /(^|_)id$|^order_number$/i;
/** The form of the gateways' ids and of this service's. */
const ID = /^[A-Za-z0-9_-]{8,64}$/;
/** A callback names only a few; more would fill the index. */
const MOST_IDS = 50;

/**
 * Finds the ids in the body of a callback, at any depth, in fields such as `id`, `payment_id` and `order_number`.
 * Empty if the body is not JSON.
 */
export function idsNamedIn(body: string): string[] {
  const ids = new Set<string>();
  try {
    JSON.parse(body, (name, value: unknown) => {
      if (ID_FIELD.test(name) && typeof value === 'string' && ID.test(value)) ids.add(value);
      return value;
    });
  } catch {
    return [];
  }
  return [...ids].slice(0, MOST_IDS);
}

/** The field with a transfer's linked account. */
const ACCOUNT_FIELD = /^recipient$/;
const STATE_FIELD = /^(entity|currency)$|(^|_)status$/;
const STATE = /^[A-Za-z0-9_.]{1,64}$/;
const AMOUNT_FIELD = /(^|_)(amount|fees?|tax|count)(_|$)/;

/** The names of the fields that lead to a value, from the outermost. Items of a list have their list's names. */
type Path = readonly string[];
type IsKept = (path: Path, value: unknown) => boolean;

/** Replaces each value that is not kept by its type. */
function withTypes(body: unknown, isKept: IsKept, path: Path = []): unknown {
  if (Array.isArray(body)) return body.map((item: unknown) => withTypes(item, isKept, path));
  if (body === null) return null;
  if (typeof body !== 'object') return isKept(path, body) ? body : typeof body;
  const entries = Object.entries(body).map(([field, value]: [string, unknown]) => [
    field,
    withTypes(value, isKept, [...path, field]),
  ]);
  return Object.fromEntries(entries) as unknown;
}

const isId = (value: unknown) => typeof value === 'string' && ID.test(value);

function isKeptInAlert(path: Path, value: unknown): boolean {
  const name = path.at(-1) ?? '';
  if (path.slice(0, -1).includes('notes')) return false;
  if (typeof value === 'number') return AMOUNT_FIELD.test(name);
  if (typeof value !== 'string') return true;
  const isIdField = ID_FIELD.test(name) || ACCOUNT_FIELD.test(name);
  return (isIdField && isId(value)) || (STATE_FIELD.test(name) && STATE.test(value));
}

/**
 * Redacts the body of an answer for a log line or an alert. It keeps ids, kinds, statuses, amounts and booleans, and
 * replaces every other value, and each value of the notes, by its type.
 */
export const redacted = (body: unknown): unknown => withTypes(body, isKeptInAlert);

const TIME_FIELD = /_(at|by|until)$/;
/** The notes that the service itself writes, to find its sessions and its money again. */
const OWN_NOTE = /^(order_number|session_id|idempotency_key)$/;

function isKeptInRecord(path: Path, value: unknown): boolean {
  const name = path.at(-1) ?? '';
  const parent = path.at(-2);
  // The ids in it are those of the buyer's bank.
  if (path.includes('acquirer_data')) return false;
  if (parent === 'notes') return OWN_NOTE.test(name) && isId(value);
  if (parent === 'error' && typeof value === 'string') return true;
  if (typeof value === 'number' && TIME_FIELD.test(name)) return true;
  return isKeptInAlert(path, value);
}

/**
 * Redacts the body of a request or an answer for a record that can be replayed. It also keeps times, the service's
 * own notes, and the reason of a refusal.
 */
export const redactedForRecord = (body: unknown): unknown => withTypes(body, isKeptInRecord);
