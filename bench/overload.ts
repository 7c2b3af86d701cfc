import type { Benchmark, Measurement, Target } from './harness/benchmark.ts';
import { startMerchant } from '../dev/load/merchant.ts';
import type { LoadRound, Shop } from './overload/closed-loop.ts';
import { runClosedLoop } from './overload/closed-loop.ts';
import { createLifecycleClient } from './lifecycle/order-lifecycle.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

/** The limit of the address would measure itself; the rest is as in production. */
const SETTINGS = { RATE_LIMIT_PER_SECOND: '1000000' };
const MERCHANTS = 16;
/** Times the best number of clients. */
const OVERLOADS = [4, 16];
const LEAST_SHARE_OF_BEST = 0.9;
const TOLD_WITHIN_MS = 1000;

const SIZES = {
  full: { clients: [2, 4, 8, 16, 32, 64], seconds: 20, rounds: 3 },
  quick: { clients: [2, 4, 8, 16], seconds: 8, rounds: 1 },
};
type Size = (typeof SIZES)[keyof typeof SIZES];

type Shape = 'many merchants' | 'one merchant';

/**
 * More clients than the service can serve at once. Each runs one lifecycle after the other, and comes back when
 * `Retry-After` says. The best number of clients is the one with the most completed lifecycles a second.
 */
export const benchmark: Benchmark = {
  description:
    'Whole lifecycles of clients that obey Retry-After: the best number of clients, and 4 and 16 times as many; of 16 merchants and of one.',
  async run({ quick }) {
    const size = SIZES[quick ? 'quick' : 'full'];
    const service = await startServiceOnPostgres({ settings: SETTINGS });
    const used = { ...service.facts, environment: service.facts.environment };
    const merchants = [];
    try {
      const most = Math.max(...size.clients) * Math.max(...OVERLOADS);
      for (let index = 0; index < MERCHANTS; index += 1) {
        merchants.push(await startMerchant(used, { actor: 'bench' }));
      }
      const shops = merchants.map(({ keys, receiver }) =>
        createLifecycleClient({ origin: used.apiBaseUrl, ...keys }, receiver, most),
      );
      // The first lifecycles compile code and open connections.
      await runClosedLoop(shops, { clients: MERCHANTS, warmUpMs: 0, ms: size.seconds * 1000 });
      const measured = [
        ...(await measureShape('many merchants', shops, size)),
        ...(await measureShape('one merchant', shops.slice(0, 1), size)),
      ];
      const measurements = measured.map(({ target: _target, ...measurement }) => measurement);
      const targets = measured.flatMap(({ id, target }) => (target ? [{ of: id, ...target }] : []));
      return { measurements, targets };
    } finally {
      for (const { receiver } of merchants) receiver.stop();
      await service.stop();
    }
  },
};

type Measured = Measurement & { readonly target?: Omit<Target, 'of'> };

async function measureShape(
  shape: Shape,
  shops: readonly Shop[],
  { clients, seconds, rounds }: Size,
): Promise<Measured[]> {
  const run = async (count: number, rate: number) => {
    // Until as many lifecycles as there are clients would have ended: before, all of them create orders.
    const warmUpMs = rate > 0 ? (count / rate) * 1000 : seconds * 250;
    const round = await runClosedLoop(shops, { clients: count, warmUpMs, ms: seconds * 1000 });
    console.log(lineOf(shape, count, round));
    if (round.failed > 0) console.log(`  ${round.errors.join('; ')}`);
    return round;
  };
  const levels: { count: number; round: LoadRound }[] = [];
  for (const count of clients) levels.push({ count, round: await run(count, 0) });
  const best = levels.reduce((most, one) =>
    one.round.perSecond > most.round.perSecond ? one : most,
  );
  const overloads = OVERLOADS.map((times) => ({
    times,
    kept: [] as number[],
    rounds: [] as LoadRound[],
  }));
  const atBest: LoadRound[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const usual = await run(best.count, 0);
    atBest.push(usual);
    for (const overload of overloads) {
      const one = await run(best.count * overload.times, usual.perSecond);
      overload.rounds.push(one);
      overload.kept.push(one.perSecond / usual.perSecond);
    }
  }
  const all = [
    ...levels.map(({ round }) => round),
    ...atBest,
    ...overloads.flatMap((one) => one.rounds),
  ];
  return [
    ...levels.map(({ count, round }) => rate(shape, `${count} clients`, [round])),
    rate(shape, `${best.count} clients again, the best`, atBest),
    ...overloads.map(({ times, rounds: of }) => rate(shape, `${times * best.count} clients`, of)),
    ...overloads.map(({ times, kept }) => ({
      id: `kept-${times}-${shape}`,
      title: `${shape}: ${times} times the best number, against it`,
      unit: 'ratio',
      rounds: kept,
      target: { atLeast: LEAST_SHARE_OF_BEST },
    })),
    { ...total(shape, 'answers 5xx or none', all, (one) => one.failed), target: { atMost: 0 } },
    {
      ...total(shape, 'begun before they were refused', all, (one) => one.begunThenRefused),
      target: { atMost: 0 },
    },
    total(shape, 'told to wait', all, (one) => one.refused),
    {
      id: `told-${shape}`,
      title: `${shape}: told to wait, the slowest`,
      unit: 'ms',
      rounds: [Math.max(...all.map(({ slowestRefusalMs }) => slowestRefusalMs))],
      target: { atMost: TOLD_WITHIN_MS },
    },
  ];
}

const rate = (shape: Shape, what: string, rounds: readonly LoadRound[]): Measured => ({
  id: `rate-${shape}-${what}`,
  title: `${shape}: ${what}`,
  unit: 'per second',
  rounds: rounds.map(({ perSecond }) => perSecond),
});

const total = (
  shape: Shape,
  what: string,
  rounds: readonly LoadRound[],
  countOf: (round: LoadRound) => number,
): Measured => ({
  id: `${what}-${shape}`,
  title: `${shape}: ${what}`,
  unit: 'requests',
  rounds: [rounds.reduce((sum, round) => sum + countOf(round), 0)],
});

function lineOf(shape: Shape, clients: number, round: LoadRound): string {
  const { perSecond, failed, refused, slowestRefusalMs } = round;
  const refusals =
    refused > 0 ? `, ${refused} told to wait within ${slowestRefusalMs.toFixed(0)} ms` : '';
  return `${shape}, ${clients} clients: ${perSecond.toFixed(2)} lifecycles a second, ${failed} failed${refusals}`;
}
