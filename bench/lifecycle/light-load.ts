import { setTimeout as delay } from 'node:timers/promises';
import type { Measurement } from '../harness/benchmark.ts';
import { percentile } from '../harness/statistics.ts';
import { timed } from '../load.ts';
import type { Observations } from './order-lifecycle.ts';
import { CALLS, newObservations } from './order-lifecycle.ts';
import type { Side } from './side.ts';

/** How a client waits that does not compete with 31 others. */
export interface LightLoad {
  /** One lifecycle after the other. */
  readonly alone: Observations;
  /** Lifecycles that begin evenly, whether the service keeps up or not. */
  readonly evenly: Observations;
}

/** @param perSecond how many lifecycles begin evenly in a second */
export async function measureLightLoad(
  side: Pick<Side, 'runLifecycle' | 'waitUntilIdle'>,
  { count, perSecond }: { count: number; perSecond: number },
): Promise<LightLoad> {
  const alone = newObservations();
  const evenly = newObservations();
  const run = (seen: Observations) =>
    side.runLifecycle(seen).catch((error: unknown) => seen.failures.push(String(error)));
  await timed({ count, concurrency: 1 }, () => run(alone));
  await side.waitUntilIdle();
  const startedAt = performance.now();
  const running: Promise<unknown>[] = [];
  for (let index = 0; index < count; index += 1) {
    await delay(Math.max(0, startedAt + (index * 1000) / perSecond - performance.now()));
    running.push(run(evenly));
  }
  await Promise.all(running);
  await side.waitUntilIdle();
  return { alone, evenly };
}

/** @param name of the side in the report; '' when it is the only one */
export function lightLoadMeasurements({
  name,
  alone,
  evenly,
}: LightLoad & { readonly name: string }): Measurement[] {
  const loads = [
    ['alone', alone],
    ['begun evenly at half the rate', evenly],
  ] as const;
  return loads.flatMap(([title, { ms }]) =>
    CALLS.flatMap((call) =>
      [50, 99].map((share) => ({
        id: `${title}-${call}-p${share}${name === '' ? '' : `-${name}`}`,
        title: `${title}: ${call}, ${share} of 100 within${name === '' ? '' : `, ${name}`}`,
        unit: 'ms',
        rounds: [percentile(ms[call], share / 100)],
      })),
    ),
  );
}
