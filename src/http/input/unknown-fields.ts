import { fieldsOf } from './validation.ts';
import type { RawInput, Schemas } from './validation.ts';

/** Source: the contract's "Requests". */
const MAX_NAMES = 10;

/** A name may be as long as the body; a header may not. */
const MAX_CHARACTERS = 64;

const isFieldList = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A header can have only visible ASCII characters, and the comma separates the names. */
const encoded = (name: string) =>
  encodeURIComponent([...name.toWellFormed()].slice(0, MAX_CHARACTERS).join(''));

/**
 * Names what a request has and its route does not: the fields of its body, and the query parameters of a
 * list. They are ignored, and a merchant who misspells one learns it in the sandbox.
 *
 * @returns the value of `X-Unknown-Fields`; undefined if every field is known
 */
export function unknownFields(
  { query, body }: Pick<Schemas, 'query' | 'body'>,
  sent: Pick<RawInput, 'query' | 'body'>,
): string | undefined {
  const names = [[query, sent.query] as const, [body, sent.body] as const].flatMap(
    ([schema, value]) => {
      if (schema === undefined || !isFieldList(value)) return [];
      const known = new Set(fieldsOf(schema));
      return Object.keys(value).filter((name) => !known.has(name));
    },
  );
  return names.length === 0 ? undefined : names.slice(0, MAX_NAMES).map(encoded).join(', ');
}
