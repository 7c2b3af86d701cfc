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

/**
 * `read`: the adapter reads the event, or each entity. `refusal`: an error, which it reads. `unused`:
 * no event and no entity that it reads.
 */
export interface Reading {
  outcome: 'read' | 'refusal' | 'unused' | 'not read';
  /** The event, or the entities. */
  what: string;
  /** Why it is not read. */
  reason?: string;
}

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

function readEntities(body: Json): Reading {
  const entities = entitiesIn(body);
  if (entities.length === 0) {
    const { entity } = body;
    return { outcome: 'unused', what: typeof entity === 'string' ? entity : '–' };
  }
  const what = [...new Set(entities.map(({ kind }) => kind))].join(', ');
  for (const { kind, body: entity } of entities) {
    const parsed = SCHEMAS[kind]?.safeParse(entity);
    if (parsed?.error) return { outcome: 'not read', what, reason: reasonOf(parsed.error) };
  }
  return { outcome: 'read', what };
}

/** Reads a callback as after the check of its signature; of an event that is ignored, its entities. */
function readCallback(text: string, body: Json, what: string): Reading {
  try {
    const { type } = readEvent(Buffer.from(text), {});
    return type === 'ignored' ? { ...readEntities(body), what } : { outcome: 'read', what };
  } catch (error) {
    return { outcome: 'not read', what, reason: reasonOf(error) };
  }
}

function readRefusal(body: Json): Reading {
  const { error } = errorSchema.safeParse(body);
  if (!error) return { outcome: 'refusal', what: 'error' };
  return { outcome: 'not read', what: 'error', reason: reasonOf(error) };
}

/** Reads a sample as the adapter reads an answer or a callback with this body. */
export function readSample(text: string): Reading {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    return { outcome: 'not read', what: '–', reason: `not JSON: ${(error as Error).message}` };
  }
  if (!isObject(body)) return { outcome: 'unused', what: '–' };
  const { event, id } = body;
  if (typeof event === 'string') return readCallback(text, body, event);
  // A transfer has an error, too. What a block is does not follow from its title.
  const isRefusal = id === undefined && ('error' in body || 'errors' in body);
  return isRefusal ? readRefusal(body) : readEntities(body);
}
