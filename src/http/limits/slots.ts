import type { Readable } from 'node:stream';
import { ENVIRONMENTS, type Environment } from '../../domain/order.ts';
import { createLimiter, type Limiter, type Limits } from '../../limiter.ts';
import { tooManyRequests } from '../responses/errors.ts';
import type { HttpRefusal } from '../responses/errors.ts';
import { RESPONSE_TIMEOUT_MS, WAITING_SHARE } from './deadline.ts';

/** Requests of the sandbox take no slots of production. */
export type LimiterByEnvironment = Readonly<Record<Environment, Limiter>>;

/** Creates a limiter of each environment. */
export const limiterByEnvironment = (create: () => Limiter) =>
  Object.fromEntries(ENVIRONMENTS.map((one) => [one, create()])) as LimiterByEnvironment;

/** Longer than the server waits for a slow body. */
const RETRY_AFTER_SECONDS = 10;

/**
 * Limits costly work whose slots are free only after seconds: work beyond that is refused at once.
 *
 * @param message what a refused client or user reads
 * @returns its refusals are `TOO_MANY_REQUESTS` with `Retry-After`
 */
export function createSlots(
  limits: Required<Pick<Limits, 'ofOne' | 'ofAll'>>,
  message: string,
): Limiter {
  return createLimiter({ ...limits, maxWaitMs: 0 }, () =>
    tooManyRequests(RETRY_AFTER_SECONDS, message),
  );
}

/** Each file reads the database for as long as its reader takes. */
const FILES_AT_ONCE = { ofOne: 2, ofAll: 32 };

/** Limits the files that are written while they are sent, of one merchant or operator and of all. */
export interface FileSlots {
  /**
   * Takes a slot until the file is sent. One too many is not read at all.
   *
   * @throws HttpRefusal TOO_MANY_REQUESTS
   */
  take(who: string, file: Readable): void;
}

/** Creates {@link FileSlots}. */
export function createFileSlots(): FileSlots {
  const slots = createSlots(
    FILES_AT_ONCE,
    'Too many requests for files at the same time: try again',
  );
  return {
    take(who, file) {
      try {
        file.once('close', slots.take(who));
      } catch (error) {
        file.destroy();
        throw error;
      }
    },
  };
}

/**
 * Requests that change orders, at the same time in one environment: one merchant alone has half of them. With more of
 * them, two processors complete no more orders a second, and each request takes longer (docs/adr/0016): on a machine
 * that answers eight calls a second, a second with these, and with 16 sometimes more than the 4.5 s of a response.
 */
export const CHANGES_AT_ONCE = 8;

/**
 * As {@link CHANGES_AT_ONCE}, for requests that only read. One merchant's reads and changes, half of both, are
 * fewer than the 20 connections to the database: they leave some to others. With 12 one merchant read 0.86 as often.
 */
export const READS_AT_ONCE = 24;

/** More than the requests that wait for a gateway, among which are the pages of buyers. */
const PAGES_AT_ONCE = { ofAll: 96, ofOne: 16 };

const LONGEST_RETRY_AFTER_SECONDS = 10;

/** In which turns requests are worked on. */
export interface Turns {
  /** By merchant. */
  readonly changes: LimiterByEnvironment;
  /** By merchant. */
  readonly reads: LimiterByEnvironment;
  /** By the network of the client. */
  readonly pages: Limiter;
}

/**
 * Creates the {@link Turns} of a process. A request whose turn does not come in time is refused before its work has begun.
 * Its client is told to come back once those that wait now have begun, because an earlier repeat would delay them.
 *
 * @param responseTimeoutMs in which a request is answered
 * @returns their refusals are `TOO_MANY_REQUESTS` with `Retry-After`
 */
export function createTurns(responseTimeoutMs = RESPONSE_TIMEOUT_MS): Turns {
  const maxWaitMs = responseTimeoutMs * WAITING_SHARE;
  const limiter = (limits: Limits) => createLimiter({ ...limits, maxWaitMs }, tooMany);
  return {
    changes: limiterByEnvironment(() => limiter({ ofAll: CHANGES_AT_ONCE })),
    reads: limiterByEnvironment(() => limiter({ ofAll: READS_AT_ONCE })),
    pages: limiter(PAGES_AT_ONCE),
  };
}

function tooMany(waitingMs: number): HttpRefusal {
  const seconds = Math.max(1, Math.ceil(waitingMs / 1000));
  return tooManyRequests(Math.min(LONGEST_RETRY_AFTER_SECONDS, seconds));
}
