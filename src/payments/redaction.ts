const ID_FIELD = /(^|_)id$|^order_number$/i;
/** The form of the gateways' ids and of ours. */
const ID = /^[A-Za-z0-9_-]{8,64}$/;
/** A callback names a few; more would only fill the index. */
const MOST_IDS = 50;

/**
 * The ids that the body of a callback names, at any depth: fields such as `id`, `payment_id` and
 * `order_number`. Empty for a body that is no JSON.
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

const STATE_FIELD = /^(entity|currency)$|(^|_)status$/;
const STATE = /^[A-Za-z0-9_.]{1,64}$/;
const AMOUNT_FIELD = /(^|_)(amount|fees?|tax|count)(_|$)/;

function isKept(name: string, value: unknown): boolean {
  if (typeof value === 'number') return AMOUNT_FIELD.test(name);
  if (typeof value !== 'string') return true;
  return (ID_FIELD.test(name) && ID.test(value)) || (STATE_FIELD.test(name) && STATE.test(value));
}

/**
 * The body of an answer for a log line or an alert: ids, kinds, statuses, amounts and booleans. Every
 * other value, and each value of the notes, is replaced by its type.
 */
export function redacted(body: unknown, name = '', isNote = false): unknown {
  if (Array.isArray(body)) return body.map((item: unknown) => redacted(item, name, isNote));
  if (body === null) return null;
  if (typeof body !== 'object') return !isNote && isKept(name, body) ? body : typeof body;
  const entries = Object.entries(body).map(([field, value]: [string, unknown]) => [
    field,
    redacted(value, field, isNote || name === 'notes'),
  ]);
  return Object.fromEntries(entries) as unknown;
}
