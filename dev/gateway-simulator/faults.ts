import type { Context, Middleware, Next } from 'koa';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { badRequest, serverError } from './entities.ts';
import { type SimulatedGateway, existing, publish } from './gateway.ts';
import { type Random, newId } from './random.ts';
import type { Refusal } from './store.ts';

/** Refusals that a gateway does not take back by itself, with the words it would use. */
const REFUSAL_CAUSES = {
  account_closed: { operation: 'transfer', description: 'The linked account is closed' },
  refund_window_over: {
    operation: 'refund',
    // payments/refunds/errors, word for word.
    description:
      'Refund is not supported by the bank because the payment is more than 6 months old',
  },
} as const;

export type RefusalCause = keyof typeof REFUSAL_CAUSES;

/** Refuses every refund or transfer of the subject (a payment, a linked account, null for all). */
export function addRefusal(
  gateway: SimulatedGateway,
  cause: RefusalCause,
  subjectId: string | null,
): Refusal {
  const id = newId('refusal_');
  const refusal = { id, subjectId, isActive: true, ...REFUSAL_CAUSES[cause] };
  publish(gateway, { refusals: { [id]: refusal } });
  return refusal;
}

/** Takes it back. */
export function liftRefusal(gateway: SimulatedGateway, id: string): void {
  const refusal = existing(gateway, 'refusals', id);
  publish(gateway, { refusals: { [id]: { ...refusal, isActive: false } } });
}

/** @throws RazorpayError 400 while a refusal covers one of the subjects */
export function assertNotRefused(
  gateway: SimulatedGateway,
  operation: Refusal['operation'],
  subjectIds: readonly string[],
): void {
  const applies = ({ subjectId }: Refusal) => subjectId === null || subjectIds.includes(subjectId);
  const refusal = gateway.store
    .all('refusals')
    .find(
      (candidate) => candidate.isActive && candidate.operation === operation && applies(candidate),
    );
  if (refusal !== undefined) throw badRequest(refusal.description);
}

/** What can go wrong with a request to the API. */
export interface FaultSpec {
  /**
   * `reset`: the connection is cut, nothing was done. `error`: a 5xx or 429. `late`: the answer comes
   * after the client's time-out. `drop_answer`: it is done, and the answer is lost.
   */
  kind: 'reset' | 'error' | 'late' | 'drop_answer';
  method?: 'GET' | 'POST' | 'PATCH' | undefined;
  /** A path in which `*` stands for one segment: `/v1/payments/*` + `/refund`. All by default. */
  path?: string | undefined;
  /** Of `error`: 503 by default. */
  status?: number | undefined;
  /** Of `error` and `late`: whether the work is done before that, after it, or never. */
  work?: 'before' | 'after' | 'never' | undefined;
  /** Of `late`: until the client gives up, by default. */
  delayMs?: number | undefined;
  /** How many requests it strikes; every one until it is switched off, by default. */
  count?: number | undefined;
  probability?: number | undefined;
}

export interface Fault extends FaultSpec {
  id: string;
  /** How many requests it has struck. */
  hits: number;
}

export interface Faults {
  add(spec: FaultSpec): Fault;
  list(): Fault[];
  remove(id: string): void;
  clear(): void;
  middleware: Middleware;
}

function pathMatches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const segments = path.split('/');
  const fits = (segment: string, index: number) =>
    wanted[index] === '*' || wanted[index] === segment;
  return wanted.length === segments.length && segments.every(fits);
}

function covers({ method, path, count, hits }: Fault, ctx: Context): boolean {
  if (count !== undefined && hits >= count) return false;
  if (method !== undefined && method !== ctx.method) return false;
  return path === undefined || pathMatches(path, ctx.path);
}

function cutConnection(ctx: Context): void {
  ctx.respond = false;
  ctx.req.socket.destroy();
}

async function answerLate(fault: Fault, ctx: Context, next: Next): Promise<void> {
  const work = fault.work ?? 'before';
  if (work === 'before') await next();
  if (fault.delayMs !== undefined) await delay(fault.delayMs);
  else if (!ctx.req.socket.destroyed) await once(ctx.req.socket, 'close');
  if (work === 'after') await next();
}

async function answerError(fault: Fault, ctx: Context, next: Next): Promise<void> {
  if (fault.work === 'before') await next();
  const error = serverError(fault.status ?? 503);
  ctx.status = error.status;
  ctx.body = error.toBody();
}

async function strike(fault: Fault, ctx: Context, next: Next): Promise<void> {
  switch (fault.kind) {
    case 'reset':
      return cutConnection(ctx);
    case 'error':
      return answerError(fault, ctx, next);
    case 'late':
      return answerLate(fault, ctx, next);
    case 'drop_answer':
      await next();
      return cutConnection(ctx);
  }
}

/** Faults that are switched on and off while it runs; the first that fits strikes. */
export function createFaults(random: Random): Faults {
  let faults: Fault[] = [];

  function take(ctx: Context): Fault | undefined {
    const fault = faults.find((candidate) => covers(candidate, ctx));
    if (fault === undefined || random.next() >= (fault.probability ?? 1)) return undefined;
    fault.hits += 1;
    return fault;
  }

  return {
    add(spec) {
      const fault = { ...spec, id: newId('fault_'), hits: 0 };
      faults.push(fault);
      return fault;
    },
    list: () => faults.map((fault) => ({ ...fault })),
    remove: (id) => {
      faults = faults.filter((fault) => fault.id !== id);
    },
    clear: () => {
      faults = [];
    },
    async middleware(ctx, next) {
      const fault = take(ctx);
      await (fault === undefined ? next() : strike(fault, ctx, next));
    },
  };
}
