import { tooManyRequests } from '../responses/errors.ts';
import { networksOf } from './client-ip.ts';

/** The limit applies to every trailing window of this length. Source: the contract. */
const WINDOW_MS = 1000;

/** The window is one second and Retry-After has no fractions, so this fits every refusal. */
const RETRY_AFTER_SECONDS = 1;

/** The maximum number of clients in memory: about 20 MB at ten requests each. */
const MAX_CLIENTS = 100_000;

/** Limits the requests of one client in any second. Refused requests do not count. */
export interface RateLimiter {
  /**
   * @returns true if it admits the request, and has counted it; false if it refuses it
   * @param ip IPv6 addresses are counted by their /64 network, and by wider ones if the limiter says so.
   */
  admit(ip: string): Promise<boolean>;
}

/**
 * Counts a request against a limit.
 *
 * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`
 */
export async function assertAdmitted(limiter: RateLimiter, ip: string): Promise<void> {
  if (!(await limiter.admit(ip))) throw tooManyRequests(RETRY_AFTER_SECONDS);
}

/** A ring buffer of one client's last admissions, as many as its limit. */
interface AdmissionRing {
  readonly limit: number;
  readonly admittedAtMs: number[];
  next: number;
  lastAdmittedAtMs: number;
}

/** An admission exactly one window ago still counts. */
const isInWindow = (atMs: number | undefined, nowMs: number) =>
  atMs !== undefined && nowMs - atMs <= WINDOW_MS;

/** Whether the oldest admission is no longer in the window. */
const hasRoom = ({ admittedAtMs, next }: AdmissionRing, nowMs: number) =>
  !isInWindow(admittedAtMs[next], nowMs);

/** Overwrites the oldest admission. */
function count(ring: AdmissionRing, nowMs: number): void {
  ring.admittedAtMs[ring.next] = nowMs;
  ring.next = (ring.next + 1) % ring.limit;
  ring.lastAdmittedAtMs = nowMs;
}

/** Removes idle clients, and the least recently admitted ones when there are too many. */
function evict(rings: Map<string, AdmissionRing>, nowMs: number, maxClients: number): void {
  for (const [key, ring] of rings) {
    if (rings.size <= maxClients && isInWindow(ring.lastAdmittedAtMs, nowMs)) return;
    rings.delete(key);
  }
}

/** The settings of a limiter of one process. */
export interface MemoryRateLimiterOptions {
  readonly limitPerSecond: number;
  /** The /56 and /48 networks of an IPv6 address have limits, too. Not in the API, by the contract. */
  readonly limitsWiderNetworks?: true;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
  readonly maxClients?: number;
}

/** A limiter of one process. */
export interface MemoryRateLimiter extends RateLimiter {
  /** How many clients it remembers. */
  countClients(): number;
}

/** Creates a sliding window log in the memory of this process, bounded by `maxClients`. */
export function createMemoryRateLimiter(options: MemoryRateLimiterOptions): MemoryRateLimiter {
  const { limitPerSecond, nowMs = () => performance.now(), maxClients = MAX_CLIENTS } = options;
  const networksCounted = options.limitsWiderNetworks ? Infinity : 1;
  // A map keeps the order of insertion: the least recently admitted client comes first.
  const rings = new Map<string, AdmissionRing>();
  return {
    countClients: () => rings.size,
    async admit(ip) {
      const now = nowMs();
      const networks = networksOf(ip).slice(0, networksCounted);
      const counted = networks.map(({ key, limitFactor }): [string, AdmissionRing] => {
        const limit = limitPerSecond * limitFactor;
        return [key, rings.get(key) ?? { limit, admittedAtMs: [], next: 0, lastAdmittedAtMs: now }];
      });
      if (!counted.every(([, ring]) => hasRoom(ring, now))) return false;
      for (const [key, ring] of counted) {
        count(ring, now);
        rings.delete(key);
        rings.set(key, ring);
      }
      evict(rings, now, maxClients);
      return true;
    },
  };
}

/** Creates the limiter of pages for people: those of buyers, or the dashboard. */
export const createPageRateLimiter = (limitPerSecond: number): RateLimiter =>
  createMemoryRateLimiter({ limitPerSecond, limitsWiderNetworks: true });
