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
export type Schemas = { readonly [Part in keyof RawInput]?: z.ZodType | undefined };

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
