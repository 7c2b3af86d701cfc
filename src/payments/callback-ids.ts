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
