import { z } from 'zod';

/** The message of a text that PostgreSQL could not hold. */
const UNSAFE_TEXT = 'must not contain NUL characters or unpaired surrogates';

type Violations = Map<string, string>;

/**
 * The first message for each top-level field. The words are the schema's own, given through the
 * `error` option of zod, so a missing or null field gets the message of its rule.
 */
function violationsOf(issues: readonly z.core.$ZodIssue[]): Violations {
  const violations: Violations = new Map();
  for (const issue of issues) {
    const field = String(issue.path[0] ?? 'body');
    if (!violations.has(field)) violations.set(field, issue.message);
  }
  return violations;
}

/** True for the schema of a body that may be absent. */
export function acceptsUndefined(schema: z.ZodType): boolean {
  return schema.safeParse(undefined).success;
}

/** The fields that a schema declares; whatever else a caller sends is ignored. */
export function fieldsOf(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodOptional) return fieldsOf(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** True for text that UTF-8 and PostgreSQL can both hold. */
function isSafeText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Looks with a list instead of recursion: the value may be 10,000 levels deep. */
function containsUnsafeText(value: unknown): boolean {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'string' && !isSafeText(next)) return true;
    if (typeof next === 'object' && next !== null) waiting.push(...Object.values(next));
  }
  return false;
}

/** True where a text was not wanted at all. */
function isWrongType({ code }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type';
}

/**
 * Checks one part of a request (query, headers or body) against its schema.
 *
 * @param violations receives the violations, so that all parts of a request report together.
 * @returns the parsed value, or `undefined` if a violation was added.
 */
export function checkPart(schema: z.ZodType, value: unknown, violations: Violations): unknown {
  const parsed = schema.safeParse(value);
  const issues = parsed.success ? [] : parsed.error.issues;
  const found = violationsOf(issues);
  const notStrings = new Set(issues.filter(isWrongType).map(({ path }) => String(path[0])));
  const fields = new Map(Object.entries(value ?? {}));
  for (const field of fieldsOf(schema)) {
    // Before the field's own message: to be told that a text is blank, or too long, would mislead.
    if (!notStrings.has(field) && containsUnsafeText(fields.get(field)))
      found.set(field, UNSAFE_TEXT);
  }
  for (const [field, message] of found) violations.set(field, violations.get(field) ?? message);
  return found.size === 0 ? parsed.data : undefined;
}

/** A path parameter names something or nothing, never breaks a query: bad characters become U+FFFD. */
export function sanitizePathParameter(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}
