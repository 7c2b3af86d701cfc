import { inspect } from 'node:util';

/** Fields that are never logged, at any depth: secrets, personal data, and what may contain them. */
const HIDDEN_FIELDS: ReadonlySet<string> = new Set([
  'secret',
  'apiSecret',
  'apiKey',
  'keySecret',
  'webhookSecret',
  'password',
  'passphrase',
  'token',
  'paymentToken',
  'cookie',
  'authorization',
  'headers',
  'body',
  'query',
  'parameters',
  'args',
  'detail',
  'where',
  'input',
  'buyer',
  'buyerEmail',
  'buyerName',
  'buyerPhone',
  'email',
  'phone',
  'contact',
  'vpa',
  'webhookUrl',
  'url',
]);

/**
 * What is logged of an error beside its kind, message, stack and cause. Libraries put values of rows
 * and requests into other fields: PostgreSQL's `detail` and `where`, Node's `input` of a wrong URL,
 * nodemailer's `rejected` and `response`.
 */
const ERROR_FIELDS = [
  'code',
  'errno',
  'syscall',
  'address',
  'port',
  'severity',
  'routine',
  'schema_name',
  'table_name',
  'column_name',
  'constraint_name',
  'operation',
  'responseCode',
  'activityType',
  'workflowType',
  'retryState',
  'nonRetryable',
] as const;

const HIDDEN = '[redacted]';
const MAX_DEPTH = 5;
const MAX_CAUSES = 5;

/**
 * The classes of PostgreSQL's errors in which quotes are around names: of connections, logins,
 * databases, schemas, statements, resources and operators.
 */
const QUOTES_NAMES = /^(08|28|3D|3F|42|53|55|57)[0-9A-Z]{3}$/;

/**
 * The message of an error without quoted values: PostgreSQL and JSON.parse quote what they refuse,
 * a row's value or a part of a request.
 */
export function safeMessage(error: Error & { code?: unknown }): string {
  const { name, code, message } = error;
  if (name === 'PostgresError' && QUOTES_NAMES.test(String(code))) return message;
  return message.replace(/".*"/s, '"…"');
}

/** The stack without the message that it begins with. */
export function framesOf(stack: unknown): string | undefined {
  if (typeof stack !== 'string') return undefined;
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return frames.length === 0 ? undefined : frames.join('\n');
}

/** What the log contains of an error. */
export function describeError(error: Error, depth = 0): Record<string, unknown> {
  const given = error as Error & Record<string, unknown>;
  const fields = ERROR_FIELDS.filter((name) => isPlain(given[name])).map((name) => [
    name,
    given[name],
  ]);
  const { cause } = error;
  return {
    type: error.name === 'Error' ? error.constructor.name : error.name,
    message: safeMessage(error),
    ...Object.fromEntries(fields),
    stack: framesOf(error.stack),
    ...(cause instanceof Error && depth < MAX_CAUSES && { cause: describeError(cause, depth + 1) }),
    ...(error instanceof AggregateError && {
      errors: error.errors
        .slice(0, MAX_CAUSES)
        .map((one: unknown) =>
          one instanceof Error ? describeError(one, depth + MAX_CAUSES) : typeof one,
        ),
    }),
  };
}

const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value);

/** The fields of a log line, with errors described and hidden fields replaced. */
export function safeFields(fields: Record<string, unknown>): Record<string, unknown> {
  return copyOf(fields, 0) as Record<string, unknown>;
}

function copyOf(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeError(value);
  if (value instanceof Date) return value;
  if (depth >= MAX_DEPTH) return inspect(value, { depth: -1 });
  if (Array.isArray(value)) return value.map((item) => copyOf(item, depth + 1));
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  return Object.fromEntries(
    Object.entries(value).map(([name, own]) => [
      name,
      HIDDEN_FIELDS.has(name) && own !== undefined ? HIDDEN : copyOf(own, depth + 1),
    ]),
  );
}

/** API and webhook secrets, and what has the form of an e-mail address, a UPI address or a login. */
const SECRETS = /\b(?:sk_(?:test|live)|whsec)_\w+/g;
const WORDS = /[^\s"'`\\/<>=,;:()[\]{}]+/g;
const hiddenIfAddress = (word: string) => (/.@[a-z0-9]/i.test(word) ? HIDDEN : word);

/** A line without secrets and addresses, in whichever text they are. */
export function safeLine(line: string): string {
  const withoutSecrets = line.includes('_') ? line.replace(SECRETS, HIDDEN) : line;
  return withoutSecrets.includes('@')
    ? withoutSecrets.replaceAll(WORDS, hiddenIfAddress)
    : withoutSecrets;
}
