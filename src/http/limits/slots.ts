import type { Readable } from 'node:stream';
import { createLimiter, type Limiter, type Limits } from '../../limiter.ts';
import { HttpRefusal } from '../responses/errors.ts';

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
  const headers = { 'Retry-After': String(RETRY_AFTER_SECONDS) };
  return createLimiter(
    { ...limits, maxWaitMs: 0 },
    () => new HttpRefusal('TOO_MANY_REQUESTS', headers, message),
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
  const slots = createSlots(FILES_AT_ONCE, 'Too many files are saved at the same time: try again');
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
