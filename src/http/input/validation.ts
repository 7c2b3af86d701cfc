import { z } from 'zod';
import { ValidationError } from '../responses/errors.ts';

/** The message of a text that PostgreSQL cannot store. */
const UNSAFE_TEXT = 'must not contain NUL characters or unpaired surrogates';

type Violations = Map<string, string>;

/**
 * The first violation message of each top-level field. Schemas set it through zod's `error` option,
 * so a missing or null field gets the message of its rule.
 */
function violationsOf(issues: readonly z.core.$ZodIssue[]): Violations {
  const violations: Violations = new Map();
  for (const issue of issues) {
    const field = String(issue.path[0] ?? 'body');
    if (!violations.has(field)) violations.set(field, issue.message);
  }
  return violations;
}

/** True if the schema accepts `undefined`: the body may be absent. */
export function acceptsUndefined(schema: z.ZodType): boolean {
  return schema.safeParse(undefined).success;
}

/** The names of the fields that an object schema declares. */
export function fieldsOf(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodOptional) return fieldsOf(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** True for text that UTF-8 can encode and PostgreSQL can store. */
function isSafeText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Iterative, because the value may be nested 10,000 levels deep. */
function containsUnsafeText(value: unknown): boolean {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'string' && !isSafeText(next)) return true;
    if (typeof next === 'object' && next !== null) waiting.push(...Object.values(next));
  }
  return false;
}

/**
 * Validates one part of a request (path parameters, query, headers or body).
 *
 * @param violations receives the violations, so that one response lists those of all parts.
 * @returns the parsed value, or `undefined` if a violation was added.
 */
export function checkPart(schema: z.ZodType, value: unknown, violations: Violations): unknown {
  const parsed = schema.safeParse(value);
  const issues = parsed.success ? [] : parsed.error.issues;
  const found = violationsOf(issues);
  const wrongType = issues.filter(({ code }) => code === 'invalid_type');
  const notStrings = new Set(wrongType.map(({ path }) => String(path[0])));
  const fields = new Map(Object.entries(value ?? {}));
  for (const field of fieldsOf(schema)) {
    // Replaces the field's own message: "blank" or "too long" would mislead here.
    if (!notStrings.has(field) && containsUnsafeText(fields.get(field)))
      found.set(field, UNSAFE_TEXT);
  }
  for (const [field, message] of found) violations.set(field, violations.get(field) ?? message);
  return found.size === 0 ? parsed.data : undefined;
}

/** The input of a request before validation. */
export interface RawInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: unknown;
  readonly body: unknown;
}

/** The schemas of a request's parts; an absent part is not read. */
type Schemas = { readonly [Part in keyof RawInput]?: z.ZodType | undefined };

/**
 * Validates the parts of a request.
 *
 * @throws ValidationError with every violation of every part
 */
export function parseInput(schemas: Schemas, input: RawInput): RawInput {
  const violations = new Map<string, string>();
  const check = (part: keyof RawInput) => {
    const schema = schemas[part];
    return schema && checkPart(schema, input[part], violations);
  };
  const parsed = {
    params: check('params'),
    query: check('query'),
    headers: check('headers'),
    body: check('body'),
  };
  if (violations.size > 0) throw new ValidationError(Object.fromEntries(violations));
  return parsed;
}

/**
 * Replaces what PostgreSQL cannot store with U+FFFD, so that such a path parameter finds nothing.
 */
export function sanitizePathParameter(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

/** Source: the contract's "Requests". */
const MAX_UNKNOWN_NAMES = 10;

/** A name may be as long as the body; a header may not. */
const MAX_NAME_CHARACTERS = 64;

const isFieldList = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A header can have only visible ASCII characters, and the comma separates the names. */
const encoded = (name: string) =>
  encodeURIComponent([...name.toWellFormed()].slice(0, MAX_NAME_CHARACTERS).join(''));

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
  return names.length === 0 ? undefined : names.slice(0, MAX_UNKNOWN_NAMES).map(encoded).join(', ');
}
