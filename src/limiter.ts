/** How much work runs at the same time, and how much waits for it. */
export interface Limits {
  /** Work of all keys that runs at the same time. */
  readonly ofAll?: number;
  /** Work of one key that runs at the same time. */
  readonly ofOne?: number;
  /** `ofOne` falls with the free slots of `ofAll`, down to one, so that many keys whose work hangs leave slots free. */
  readonly isShareFalling?: boolean;
  /** Work of one key that waits; more is refused at once. */
  readonly maxWaiting?: number;
  /** Work of all keys that waits. */
  readonly maxWaitingOfAll?: number;
  /** How long work waits before it is refused; 0 refuses it at once. */
  readonly maxWaitMs?: number;
}

/**
 * Creates the error of work that was refused, and not begun.
 *
 * @param waitingMs how long it will take until all that waits has begun, if work takes as long as before
 */
export type Refuse = (waitingMs: number) => Error;

/** Limits work that runs at the same time in this process, so that one key leaves room for the others. */
export interface Limiter {
  /**
   * Takes a slot at once, or refuses.
   *
   * @returns releases the slot; further calls do nothing
   * @throws the error of {@link Refuse}
   */
  take(key: string): () => void;
  /**
   * Runs work once it has a slot, until the work ends. Work that fails frees its slot like work that succeeds.
   *
   * @throws the error of {@link Refuse} before the work was begun, or that of the work
   */
  run<Value>(key: string, work: () => Promise<Value>): Promise<Value>;
}

const tooMuch: Refuse = () => new Error('Too much work at the same time');

/** How long work is taken to need before any has ended. */
const FIRST_WORK_MS = 1000;
/** What the work that has just ended counts in the average. */
const NEWEST_SHARE = 0.1;

/** One key that has work. */
interface Share {
  running: number;
  readonly waiting: (() => void)[];
}

/** Counts the work of each key. */
function createShares(
  { ofAll = Infinity, ofOne = Infinity, isShareFalling = false }: Limits,
  onRelease: () => void,
) {
  /** Only keys with work. */
  const shares = new Map<string, Share>();
  let running = 0;
  let averageMs = FIRST_WORK_MS;
  const shareOfOne = () => {
    const free = ofAll - running;
    return isShareFalling ? Math.ceil((ofOne * free) / ofAll) : Math.min(ofOne, free);
  };
  const mayRun = (share: Share) => share.running < shareOfOne();

  function forgetUnused(key: string, share: Share): void {
    if (share.running === 0 && share.waiting.length === 0) shares.delete(key);
  }

  return {
    mayRun,
    forgetUnused,
    msUntilBegun: (waiting: number) => (waiting * averageMs) / Math.max(running, 1),
    of(key: string): Share {
      const share = shares.get(key) ?? { running: 0, waiting: [] };
      shares.set(key, share);
      return share;
    },
    begin(key: string, share: Share): () => void {
      // Of keys that run as much, the one that began longest ago is the next.
      shares.delete(key);
      shares.set(key, share);
      share.running += 1;
      running += 1;
      const beganAtMs = performance.now();
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        share.running -= 1;
        running -= 1;
        averageMs += (performance.now() - beganAtMs - averageMs) * NEWEST_SHARE;
        forgetUnused(key, share);
        onRelease();
      };
    },
    /** The waiting key with the fewest, of those that may take a slot: of several, the first of the map. */
    nextWaiting(): Share | undefined {
      const able = [...shares.values()].filter((one) => one.waiting.length > 0 && mayRun(one));
      return able.sort((left, right) => left.running - right.running)[0];
    },
  };
}

/**
 * Creates a {@link Limiter}.
 *
 * If `ofAll` is limited, a key takes another slot only while more slots are free than it has: one key alone takes
 * half of them, two take a third each, and there is always one left for a key that has none. A slot that becomes
 * free goes to the waiting key with the fewest, by turns if several have as few; each key's own work begins in the
 * order of its arrival.
 */
export function createLimiter(limits: Limits, refuse: Refuse = tooMuch): Limiter {
  const { maxWaiting = Infinity, maxWaitingOfAll = Infinity, maxWaitMs = Infinity } = limits;
  let waiting = 0;

  const shares = createShares(limits, () => {
    while (waiting > 0) {
      const start = shares.nextWaiting()?.waiting.shift();
      if (!start) return;
      start();
    }
  });

  function wait(key: string, share: Share): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const start = () => {
      waiting -= 1;
      clearTimeout(timer);
      resolve(shares.begin(key, share));
    };
    const giveUp = () => {
      reject(refuse(shares.msUntilBegun(waiting)));
      waiting -= 1;
      share.waiting.splice(share.waiting.indexOf(start), 1);
      shares.forgetUnused(key, share);
    };
    const timer = Number.isFinite(maxWaitMs) ? setTimeout(giveUp, maxWaitMs) : undefined;
    share.waiting.push(start);
    waiting += 1;
    return promise;
  }

  function enter(key: string, mayWait: boolean): (() => void) | Promise<() => void> {
    const share = shares.of(key);
    if (share.waiting.length === 0 && shares.mayRun(share)) return shares.begin(key, share);
    const hasRoom = share.waiting.length < maxWaiting && waiting < maxWaitingOfAll;
    if (mayWait && hasRoom) return wait(key, share);
    shares.forgetUnused(key, share);
    throw refuse(shares.msUntilBegun(waiting));
  }

  return {
    take: (key) => enter(key, false) as () => void,
    async run(key, work) {
      const entered = enter(key, maxWaitMs > 0);
      // Work that need not wait begins in the caller's turn of the event loop.
      const release = entered instanceof Promise ? await entered : entered;
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
