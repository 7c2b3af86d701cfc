import type { Readable } from 'node:stream';
import { ENVIRONMENTS, type Environment } from '../../domain/order.ts';
import { createLimiter, type Limiter, type Limits } from '../../limiter.ts';
import { tooManyRequests } from '../responses/errors.ts';

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
