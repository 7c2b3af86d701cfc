import { z } from 'zod';
import { readEvent } from '../../src/payments/razorpay/callbacks.ts';
import {
  accountActivationSchema,
  accountSchema,
  accountStatusSchema,
  disputeSchema,
  errorSchema,
  paymentSchema,
  qrCodeSchema,
  refundSchema,
  transferSchema,
} from '../../src/payments/razorpay/schemas.ts';

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  qr_code: qrCodeSchema,
  payment: paymentSchema,
  refund: refundSchema,
  transfer: transferSchema,
  dispute: disputeSchema,
  'linked account': accountStatusSchema.and(accountSchema),
  // The beta API names it so.
  account: accountActivationSchema,
};

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A linked account of `/v2/accounts` has no `entity`. */
function kindOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  if (value['type'] === 'route' && value['entity'] === undefined) return 'linked account';
  const { entity } = value;
  return typeof entity === 'string' && Object.hasOwn(SCHEMAS, entity) ? entity : undefined;
}

interface Entity {
  kind: string;
  body: unknown;
}

/**
 * The entities in a body, at any depth.
 *
 * @param listed the kind of the list's first item: the adapter reads every item as this kind
 */
function entitiesIn(body: unknown, listed?: string): Entity[] {
  if (Array.isArray(body)) return body.flatMap((item) => entitiesIn(item, listed));
  if (!isObject(body)) return [];
  const kind = kindOf(body) ?? listed;
  const { items } = body;
  const first = Array.isArray(items) ? kindOf(items[0]) : undefined;
  const inside = Object.values(body).flatMap((value) =>
    entitiesIn(value, value === items ? first : undefined),
  );
  return kind === undefined ? inside : [{ kind, body }, ...inside];
}

const reasonOf = (error: unknown) =>
  error instanceof z.ZodError
    ? error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
    : String(error);

function faultOfEntities(body: Json): string | undefined {
  for (const { kind, body: entity } of entitiesIn(body)) {
    const parsed = SCHEMAS[kind]?.safeParse(entity);
    if (parsed?.error) return reasonOf(parsed.error);
  }
  return undefined;
}

/** Reads a callback as after the check of its signature; of an event that is ignored, its entities. */
function faultOfCallback(text: string, body: Json): string | undefined {
  try {
    const { type } = readEvent(Buffer.from(text), {});
    return type === 'ignored' ? faultOfEntities(body) : undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/**
 * Reads a sample as the adapter reads an answer or a callback with this body.
 *
 * @returns why it cannot; undefined also for a sample without an entity or event that the adapter reads
 */
export function faultOfSample(text: string): string | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    return `not JSON: ${(error as Error).message}`;
  }
  if (!isObject(body)) return undefined;
  if (typeof body['event'] === 'string') return faultOfCallback(text, body);
  // A transfer has an error, too. What a block is does not follow from its title.
  const isRefusal = body['id'] === undefined && ('error' in body || 'errors' in body);
  if (!isRefusal) return faultOfEntities(body);
  const { error } = errorSchema.safeParse(body);
  return error && reasonOf(error);
}
