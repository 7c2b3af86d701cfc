interface Line {
  active: number;
  waiting: (() => void)[];
}

/**
 * Lets so many calls for the same key be under way at once; the others wait in the order in which
 * they came. A call that fails makes room like one that succeeds.
 */
export function createTurns(maxAtOnce: number) {
  /** Only keys with something under way. */
  const lines = new Map<string, Line>();

  return async function inTurn<T>(key: string, call: () => Promise<T>): Promise<T> {
    const line = lines.get(key) ?? { active: 0, waiting: [] };
    lines.set(key, line);
    if (line.active < maxAtOnce) line.active += 1;
    else await new Promise<void>((enter) => line.waiting.push(enter));
    try {
      return await call();
    } finally {
      // Whoever waits longest takes this place over.
      const enter = line.waiting.shift();
      if (enter) enter();
      else if (--line.active === 0) lines.delete(key);
    }
  };
}
