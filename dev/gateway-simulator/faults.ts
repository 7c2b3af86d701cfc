import type { Context, Next } from 'koa';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { durationMs } from './callbacks/callbacks.ts';
import { serverError } from './state/entities.ts';
import { type Random, newId } from './random.ts';

/** A fault of the API. */
export const faultSpec = z.strictObject({
  /**
   * `reset`: the connection is cut before the work. `error`: a 5xx or 429. `late`: the response comes
   * after the client's time-out. `held`: it comes when the fault is removed. `drop_answer`: the work is
   * done, and the response is lost.
   */
  kind: z.enum(['reset', 'error', 'late', 'held', 'drop_answer']),
  method: z.enum(['GET', 'POST', 'PATCH']).optional(),
  /** A path in which `*` stands for one segment: `/v1/payments/*` + `/refund`. All by default. */
  path: z.string().startsWith('/').optional(),
  /** For `error`: 503 by default. */
  status: z.union([z.literal(429), z.number().int().min(500).max(599)]).optional(),
  /** For `error`, `late` and `held`: whether the work is done before the fault, after it, or never. */
  work: z.enum(['before', 'after', 'never']).optional(),
  /** For `late`: until the client closes the connection, by default. */
  delayMs: durationMs.optional(),
  /** How many requests it affects; all by default. */
  count: z.number().int().min(1).optional(),
  probability: z.number().min(0).max(1).optional(),
});
type FaultSpec = z.output<typeof faultSpec>;

/** An active fault. */
interface Fault extends FaultSpec {
  id: string;
  /** How many requests it has affected. */
  hits: number;
}

function pathMatches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const segments = path.split('/');
  const fits = (segment: string, index: number) =>
    wanted[index] === '*' || wanted[index] === segment;
  return wanted.length === segments.length && segments.every(fits);
}

function matches({ method, path, count, hits }: Fault, ctx: Context): boolean {
  if (count !== undefined && hits >= count) return false;
  if (method !== undefined && method !== ctx.method) return false;
  return path === undefined || pathMatches(path, ctx.path);
}

function cutConnection(ctx: Context): void {
  ctx.respond = false;
  ctx.req.socket.destroy();
}

async function waitLate({ delayMs }: Fault, ctx: Context): Promise<void> {
  if (delayMs !== undefined) await delay(delayMs);
  else if (!ctx.req.socket.destroyed) await once(ctx.req.socket, 'close');
}

async function respondAfter(fault: Fault, next: Next, wait: () => Promise<void>): Promise<void> {
  const work = fault.work ?? 'before';
  if (work === 'before') await next();
  await wait();
  if (work === 'after') await next();
}

async function respondWithError(fault: Fault, ctx: Context, next: Next): Promise<void> {
  if (fault.work === 'before') await next();
  const error = serverError(fault.status ?? 503);
  ctx.status = error.status;
  ctx.body = error.toBody();
}

async function applyFault(
  fault: Fault,
  ctx: Context,
  next: Next,
  removed: Promise<void>,
): Promise<void> {
  switch (fault.kind) {
    case 'reset':
      return cutConnection(ctx);
    case 'error':
      return respondWithError(fault, ctx, next);
    case 'late':
      return respondAfter(fault, next, () => waitLate(fault, ctx));
    case 'held':
      return respondAfter(fault, next, () => removed);
    case 'drop_answer':
      await next();
      return cutConnection(ctx);
  }
}

/** Creates an empty list of faults. The first one that matches a request applies to it. */
export function createFaults(random: Random) {
  let faults: Fault[] = [];
  const removals = new Map<Fault, PromiseWithResolvers<void>>();

  /** Removes faults, and lets the requests that they hold continue. */
  function removeWhere(isRemoved: (fault: Fault) => boolean): void {
    const removed = faults.filter(isRemoved);
    faults = faults.filter((fault) => !isRemoved(fault));
    for (const fault of removed) {
      removals.get(fault)?.resolve();
      removals.delete(fault);
    }
  }

  function draw(ctx: Context): Fault | undefined {
    const fault = faults.find((candidate) => matches(candidate, ctx));
    if (fault === undefined || random.next() >= (fault.probability ?? 1)) return undefined;
    fault.hits += 1;
    return fault;
  }

  return {
    add(spec: FaultSpec): Fault {
      const fault = { ...spec, id: newId('fault_'), hits: 0 };
      faults.push(fault);
      removals.set(fault, Promise.withResolvers());
      return fault;
    },
    list: () => faults.map((fault) => ({ ...fault })),
    remove: (id: string) => removeWhere((fault) => fault.id === id),
    clear: () => removeWhere(() => true),
    async middleware(ctx: Context, next: Next): Promise<void> {
      const fault = draw(ctx);
      const removal = fault && removals.get(fault);
      await (fault && removal ? applyFault(fault, ctx, next, removal.promise) : next());
    },
  };
}

/** The active faults of a simulator. */
export type Faults = ReturnType<typeof createFaults>;
