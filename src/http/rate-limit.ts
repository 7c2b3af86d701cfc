import { limitKeyOf } from './client-ip.ts';

/** The limit holds for every trailing window of this length, wherever it starts. */
const WINDOW_MS = 1000;

/** A window is one second and Retry-After has no fractions, so this is right for every refusal. */
const RETRY_AFTER_SECONDS = 1;

/** How many clients one process remembers at most: some 20 MB at ten requests each. */
const MAX_CLIENTS = 100_000;

/** The decision about one request. */
export type Admission =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly retryAfterSeconds: number };

/** Admits at most so many requests of one client in any second. Refused requests do not count. */
export interface RateLimiter {
  /** @param ip IPv6 addresses count by their /64. */
  admit(ip: string): Promise<Admission>;
}

/** The answer of a limiter as an `Admission`. */
export function admissionOf(admitted: boolean): Admission {
  return admitted ? { admitted } : { admitted, retryAfterSeconds: RETRY_AFTER_SECONDS };
}

/** A ring of one client's last admissions: as many as one window may hold. */
interface AdmissionRing {
  readonly admittedAtMs: number[];
  next: number;
  lastAdmittedAtMs: number;
}

/** An admission exactly one window ago still shares a closed window with this request. */
const isInWindow = (atMs: number | undefined, nowMs: number) =>
  atMs !== undefined && nowMs - atMs <= WINDOW_MS;

/** Writes the admission over the oldest one, unless that one is still in the window. */
function tryAdmit(ring: AdmissionRing, limit: number, nowMs: number): boolean {
  if (isInWindow(ring.admittedAtMs[ring.next], nowMs)) return false;
  ring.admittedAtMs[ring.next] = nowMs;
  ring.next = (ring.next + 1) % limit;
  ring.lastAdmittedAtMs = nowMs;
  return true;
}

/** Forgets idle clients, oldest first, and the oldest of all when there are too many. */
function evict(rings: Map<string, AdmissionRing>, nowMs: number, maxClients: number): void {
  for (const [key, ring] of rings) {
    if (rings.size <= maxClients && isInWindow(ring.lastAdmittedAtMs, nowMs)) return;
    rings.delete(key);
  }
}

/** Settings of a limiter that lives in one process. */
export interface MemoryRateLimiterOptions {
  readonly limitPerSecond: number;
  /** A clock that never goes back, in milliseconds. */
  readonly nowMs?: () => number;
  readonly maxClients?: number;
}

/** A sliding window log in the memory of this process, bounded whatever the number of addresses. */
export function createMemoryRateLimiter(options: MemoryRateLimiterOptions): RateLimiter {
  const { limitPerSecond, nowMs = () => performance.now(), maxClients = MAX_CLIENTS } = options;
  // A map keeps the order of insertion: the client that was admitted longest ago comes first.
  const rings = new Map<string, AdmissionRing>();
  return {
    async admit(ip) {
      const now = nowMs();
      const key = limitKeyOf(ip);
      const ring = rings.get(key) ?? { admittedAtMs: [], next: 0, lastAdmittedAtMs: now };
      if (!tryAdmit(ring, limitPerSecond, now)) return admissionOf(false);
      rings.delete(key);
      rings.set(key, ring);
      evict(rings, now, maxClients);
      return admissionOf(true);
    },
  };
}
