import { z } from 'zod';

/**
 * The white space, control and invisible characters of Unicode below U+10000, for use inside a
 * character class. It is spelled out because OpenAPI clients use other regular expression engines:
 * `\s` and `\p` differ between them, and so do characters from U+10000 on.
 */
const BLANK =
  '\\u0001-\\u0020\\u007F-\\u00A0\\u00AD\\u034F\\u061C\\u115F\\u1160\\u1680\\u17B4\\u17B5' +
  '\\u180B-\\u180F\\u2000-\\u200F\\u2028-\\u202F\\u205F-\\u206F\\u2800\\u3000\\u3164' +
  '\\uFE00-\\uFE0F\\uFEFF\\uFFA0\\uFFF9-\\uFFFB';

/** The pattern of any text that PostgreSQL can store: no NUL. */
export const ANY_TEXT = '^[^\\u0000]*$';

/** The same, with at least one character that is not blank. */
const VISIBLE_TEXT = `^[^\\u0000]*[^\\u0000${BLANK}][^\\u0000]*$`;

/**
 * A visible character. Tags and variation selectors (U+E0000 to U+E0FFF) are invisible too; the
 * pattern in the OpenAPI document cannot express that, but validation refuses a text of them alone.
 */
const VISIBLE = new RegExp(`[^\\u0000${BLANK}\\u{E0000}-\\u{E0FFF}]`, 'u');

/** The rules of a text field. */
export interface TextRule {
  /** The message of every violation, also of a missing or null field. */
  readonly error: string;
  /** Lengths count characters (code points), as JSON Schema does and `string.length` does not. */
  readonly minLength?: number;
  /** If absent, only the size limit of the body applies. */
  readonly maxLength?: number;
  /** Refuses texts that are blank. */
  readonly notBlank?: boolean;
}

/** The schema of a text field. The OpenAPI document states the same rules as the validation. */
export function text({ error, minLength = 0, maxLength, notBlank = false }: TextRule) {
  const most = maxLength ?? Infinity;
  const pattern = notBlank ? VISIBLE_TEXT : ANY_TEXT;
  return z
    .string({ error })
    .refine(
      (value) => {
        const length = [...value].length;
        return (
          length >= minLength &&
          length <= most &&
          !value.includes('\0') &&
          (!notBlank || VISIBLE.test(value))
        );
      },
      { error },
    )
    .meta({
      ...(minLength > 0 && { minLength }),
      ...(maxLength !== undefined && { maxLength }),
      pattern,
    });
}

/**
 * RFC 5321: at most 64 characters before the @, 63 in a label, 254 in all. The lengths are part of
 * the expression, so that the OpenAPI document states the whole rule. A top-level domain in another
 * script is written in Punycode: `xn--h2brj9c` is भारत.
 */
const EMAIL =
  /^(?=.{1,64}@)(?=.{3,254}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?:[A-Za-z]{2,63}|[Xx][Nn]--[A-Za-z0-9-]{0,58}[A-Za-z0-9])$/;

/**
 * The schema of an email address.
 *
 * @param rule `error` is the message of every violation, also of a missing or null field.
 */
export function email({ error }: { readonly error: string }) {
  return z.string({ error }).regex(EMAIL, { error }).meta({ format: 'email' });
}

/** The rules of an integer in a query. */
export interface IntegerRule {
  /** The message of every violation. */
  readonly error: string;
  readonly minimum: number;
  readonly maximum: number;
  /** The message of a number over the maximum; `error` if absent. */
  readonly tooLarge?: string;
  /** Used when the parameter is absent. */
  readonly fallback: number;
}

/** The schema of an integer in a query, written in decimal digits. */
export function integerInQuery({
  error,
  minimum,
  maximum,
  tooLarge = error,
  fallback,
}: IntegerRule) {
  return z
    .string({ error })
    .regex(/^-?[0-9]+$/, { error, abort: true })
    .transform(Number)
    .refine((value) => value >= minimum, { error })
    .refine((value) => value <= maximum, { error: tooLarge })
    .default(fallback)
    .meta({
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum, maximum, default: fallback });
      },
    });
}

/** Times are clamped to this range, which PostgreSQL can store and every order falls into. */
const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(9999, 11, 31);

/** An offset whose plus was not percent-encoded: in a query, a plus means a space. */
const LOST_PLUS = /^\S+ \d\d:?\d\d$/;

/**
 * The schema of a time in a query, in ISO-8601 with an offset. Times outside the supported range
 * are clamped, and fractions of a millisecond are rounded up: both select the same orders.
 */
export function momentInQuery({ error }: { readonly error: string }) {
  const message = ({ input }: { input?: unknown }) =>
    typeof input === 'string' && LOST_PLUS.test(input)
      ? `${error}; write the + of an offset as %2B`
      : error;
  return z.iso.datetime({ offset: true, error: message }).transform((moment) => {
    const roundedUpMs = Date.parse(moment) + (/\.\d{3}\d*[1-9]/.test(moment) ? 1 : 0);
    return new Date(Math.min(Math.max(roundedUpMs, EARLIEST_MS), LATEST_MS));
  });
}
