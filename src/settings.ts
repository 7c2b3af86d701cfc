import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** A setting that cannot be used: its message is the one line to print before exit 1. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** What is said of a variable beside its check. */
interface Texts {
  /** The second half of the line that a wrong or missing value prints. */
  readonly accepts: string;
  /** What it sets: its row in docs/settings.md. */
  readonly description: string;
  /** The row's words for what holds when it is not set, if the default alone does not say it. */
  readonly byDefault?: string;
  /** docs/settings.md leaves it out. */
  readonly hidden?: boolean;
  /** It can also be given as a file, whose path is in the variable of {@link fileVariable}. */
  readonly secret?: boolean;
}

/** One variable of the environment. */
export interface Setting<Value = unknown> extends Texts {
  readonly schema: z.ZodType<Value, string | undefined>;
  /** The default, as the environment would give it. */
  readonly fallback: string | undefined;
}

/** Variables by their names. */
export type Settings = Readonly<Record<string, Setting>>;

type Given<Value, Fallback> = Fallback extends undefined ? Value | undefined : Value;

/** The setting that `schema` checks; without a fallback its value may be undefined. */
export function setting<Value, const Fallback extends string | number | undefined>(
  schema: z.ZodType<Value, string>,
  fallback: Fallback,
  texts: Texts,
): Setting<Given<Value, Fallback>> {
  const given = fallback?.toString();
  const whole = given === undefined ? schema.optional() : schema.prefault(given);
  return { ...texts, schema: whole as Setting<Given<Value, Fallback>>['schema'], fallback: given };
}

/** What the items of a list may be. */
export const ITEMS = {
  port: z.coerce.number<string>().int().min(1).max(65_535),
  /** Given in seconds, kept in milliseconds. */
  duration: z.coerce
    .number<string>()
    .min(0.001)
    .max(7_776_000)
    .transform((value) => Math.round(value * 1000)),
  cidr: z.union([z.cidrv4(), z.cidrv6()]),
  addressOrCidr: z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]),
};

/** Text of any kind, or only what `matches`. */
export function text<const Fallback extends string | undefined>(
  fallback: Fallback,
  { matches, ...texts }: Texts & { matches?: RegExp },
) {
  return setting(matches ? z.string().regex(matches) : z.string(), fallback, texts);
}

/** One of these words. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  fallback: NoInfer<Word>,
  description: string,
) {
  const accepts = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return setting(z.enum(words), fallback as string, { accepts, description });
}

/** A port to listen on. */
export function port<const Fallback extends number | undefined>(
  fallback: Fallback,
  description: string,
) {
  return setting(ITEMS.port, fallback, { accepts: 'a port number from 1 to 65535', description });
}

/** How often something may happen. */
export function ratePerSecond(fallback: number, description: string) {
  const schema = z.coerce.number<string>().int().min(1).max(1_000_000);
  return setting(schema, fallback, { accepts: 'a whole number from 1 to 1000000', description });
}

/** A duration: given in seconds, kept in milliseconds. */
export function seconds(fallback: number, description: string) {
  const accepts = 'a number of seconds from 0.001 to 7776000 (90 days)';
  const hours = fallback / 3600;
  const spoken = hours >= 1 ? `${hours} hours` : `${fallback / 60} minutes`;
  const byDefault = fallback > 60 ? `\`${fallback}\` (${spoken})` : `\`${fallback}\``;
  return setting(ITEMS.duration, fallback, { accepts, description, byDefault });
}

/** An address of HTTP, or of HTTPS alone. */
export function webAddress(description: string, more: Partial<Texts> & { secure?: boolean } = {}) {
  const { secure = false, ...texts } = more;
  const accepts = secure ? 'an https:// address' : 'an http:// or https:// address';
  const schema = z.url({ protocol: secure ? /^https$/ : /^https?$/ });
  return setting(schema, undefined, { accepts, description, ...texts });
}

/** The address of a PostgreSQL database, with a login. */
export function databaseAddress(description: string, byDefault: string) {
  const schema = z.url({ protocol: /^postgres(ql)?$/ });
  const accepts = 'a postgres:// address';
  // The address contains the password of the login.
  return setting(schema, undefined, { accepts, description, byDefault, secret: true });
}

/** Items separated by commas; empty ones do not count. */
export function list<Item>(
  item: z.ZodType<Item, string>,
  { fallback = '', length, ...texts }: Texts & { fallback?: string; length?: number },
) {
  const items = length === undefined ? z.array(item) : z.array(item).length(length);
  const parts = z.string().transform((value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );
  return setting(parts.pipe(items), fallback, texts);
}

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Lowercase<Name>;

/** The name of a variable's value: `databaseUrl` of DATABASE_URL, `sweepAfterMs` of SWEEP_AFTER_SECONDS. */
export type ValueName<Name extends string> = Name extends `${infer Stem}_SECONDS`
  ? CamelCase<`${Stem}_MS`>
  : CamelCase<Name>;

export function valueNameOf<Name extends string>(name: Name): ValueName<Name> {
  return name
    .replace(/_SECONDS$/, '_MS')
    .toLowerCase()
    .replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as ValueName<Name>;
}

/** The values of a group of variables. */
export type ValuesOf<Group extends Settings> = {
  [Name in keyof Group & string as ValueName<Name>]: Group[Name] extends Setting<infer Value>
    ? Value
    : never;
};

/** The values of a group of which every variable is given. */
export type WholeOf<Group extends Settings> = {
  [Name in keyof ValuesOf<Group>]: NonNullable<ValuesOf<Group>[Name]>;
};

/** The line about a variable that cannot be used as it is. */
export function faulty(
  name: string,
  { accepts }: Pick<Setting, 'accepts'>,
  fault: 'wrong' | 'missing',
): ConfigError {
  return new ConfigError(`${name} is ${fault}: it accepts ${accepts}`);
}

/** The environment of this process. Nothing else reads it. */
export function inheritedEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/** The variable with the path of a file that contains the secret `name`. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

function readSecretFile(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new ConfigError(`${variable} cannot be read: ${(error as Error).message}`);
  }
}

/**
 * What the environment has for a variable, or the content of the file that it names; undefined if
 * that is nothing.
 *
 * @throws ConfigError if a secret is given in both ways, or its file cannot be read
 */
function givenText(
  name: string,
  { secret = false }: Setting,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const value = env[name] || undefined;
  const variable = fileVariable(name);
  const path = secret ? env[variable] : undefined;
  if (!path) return value;
  if (value === undefined) return readSecretFile(variable, path) || undefined;
  throw new ConfigError(`${name} and ${variable} are both given: set only one of them`);
}

/**
 * The values of a group of variables; one that is set to nothing is not given. A secret can also be
 * given as a file, without the newline at its end.
 *
 * @param prefix what the environment has before each name
 * @throws ConfigError about the first that is wrong
 */
export function readSettings<Group extends Settings>(
  group: Group,
  env: NodeJS.ProcessEnv,
  prefix = '',
): ValuesOf<Group> {
  const values = Object.entries(group).map(([name, entry]) => {
    const parsed = entry.schema.safeParse(givenText(prefix + name, entry, env));
    if (!parsed.success) throw faulty(prefix + name, entry, 'wrong');
    return [valueNameOf(name), parsed.data];
  });
  return Object.fromEntries(values) as ValuesOf<Group>;
}

/**
 * The values of variables that belong together; undefined where none of them is given.
 *
 * @throws ConfigError about the first that is wrong or missing
 */
export function readAllOrNone<Group extends Settings>(
  group: Group,
  env: NodeJS.ProcessEnv,
  prefix = '',
): WholeOf<Group> | undefined {
  const values = readSettings(group, env, prefix);
  const missing = Object.entries(group).filter(
    ([name, entry]) => givenText(prefix + name, entry, env) === undefined,
  );
  const [first] = missing;
  if (first === undefined) return values as ValuesOf<Group> & WholeOf<Group>;
  if (missing.length === Object.keys(group).length) return undefined;
  throw faulty(prefix + first[0], first[1], 'missing');
}
