import type { Random } from '../gateway-simulator/random.ts';
import { shuffled } from '../gateway-simulator/random.ts';

/** A process that is killed or frozen. */
export type Victim =
  | 'worker-1'
  | 'worker-2'
  | 'api-1'
  | 'api-2'
  | 'temporal'
  | 'postgres'
  | 'gateway-simulator';

/** A network that is cut: between all processes of one kind, or one of them, and a server. */
export interface Cut {
  readonly from: readonly ('worker-1' | 'worker-2' | 'api-1' | 'api-2' | 'temporal')[];
  readonly to: 'postgres' | 'temporal' | 'gateway-simulator';
}

/** What is wrong for a while. */
export type Fault =
  | { readonly kind: 'kill'; readonly victim: Victim }
  | { readonly kind: 'freeze'; readonly victim: Victim; readonly durationMs: number }
  | {
      readonly kind: 'cut';
      readonly cut: Cut;
      /** Whether connections are refused, or accepted without an answer. */
      readonly how: 'refuse' | 'hang';
      readonly durationMs: number;
    };

const VICTIMS: readonly Victim[] = [
  'worker-1',
  'worker-2',
  'api-1',
  'api-2',
  'temporal',
  'postgres',
  'gateway-simulator',
];
const APIS = ['api-1', 'api-2'] as const;
const WORKERS = ['worker-1', 'worker-2'] as const;
const CUTS: readonly Cut[] = [
  { from: [...APIS, ...WORKERS, 'temporal'], to: 'postgres' },
  { from: [...APIS, ...WORKERS], to: 'temporal' },
  { from: [...APIS, ...WORKERS], to: 'gateway-simulator' },
  { from: ['api-1'], to: 'postgres' },
  { from: ['api-2'], to: 'temporal' },
  { from: ['worker-1'], to: 'postgres' },
  { from: ['worker-2'], to: 'temporal' },
  { from: ['worker-1'], to: 'gateway-simulator' },
  { from: [...WORKERS], to: 'postgres' },
  { from: [...WORKERS], to: 'temporal' },
  { from: ['temporal'], to: 'postgres' },
];

const FREEZE_MS = 20_000;
const LEAST_CUT_MS = 4000;
const MOST_CUT_MS = 12_000;
const TWO_AT_ONCE = 0.15;

/** The kinds of faults, over and over: a quarter of them are freezes, which take the longest. */
const KINDS = ['kill', 'cut', 'kill', 'freeze'] as const;

/** Draws from a shuffled list, and shuffles it again when it is empty: each is drawn equally often. */
function drawFrom<Item>(items: readonly Item[], random: Random): () => Item {
  let left: Item[] = [];
  return () => {
    if (left.length === 0) left = shuffled(items, random);
    const drawn = left.pop();
    if (drawn === undefined) throw new Error('There is nothing to draw from');
    return drawn;
  };
}

/** Plans faults, one or two at a time. The same random numbers give the same plan. */
export function planFaults(count: number, random: Random): Fault[][] {
  const drawKill = drawFrom(VICTIMS, random);
  const drawFreeze = drawFrom(VICTIMS, random);
  const drawCut = drawFrom(CUTS, random);
  const drawKind = drawFrom(KINDS, random);
  const draw = (kind: Fault['kind']): Fault => {
    switch (kind) {
      case 'kill':
        return { kind, victim: drawKill() };
      case 'freeze':
        return { kind, victim: drawFreeze(), durationMs: FREEZE_MS };
      case 'cut':
        return {
          kind,
          cut: drawCut(),
          how: random.next() < 0.5 ? 'refuse' : 'hang',
          durationMs: LEAST_CUT_MS + Math.floor(random.next() * (MOST_CUT_MS - LEAST_CUT_MS)),
        };
    }
  };
  return Array.from({ length: count }, () => {
    const first = draw(drawKind());
    // The second one is short.
    return random.next() < TWO_AT_ONCE
      ? [first, draw(random.next() < 0.5 ? 'kill' : 'cut')]
      : [first];
  });
}

/** A fault in a few words. */
export function faultText(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
      return `kill -9 ${fault.victim}`;
    case 'freeze':
      return `freeze ${fault.victim} for ${fault.durationMs / 1000} s`;
    case 'cut': {
      const { from, to } = fault.cut;
      const what = fault.how === 'refuse' ? 'refuse' : 'leave unanswered';
      return `${what} ${from.join(', ')} at ${to} for ${(fault.durationMs / 1000).toFixed(1)} s`;
    }
  }
}

/** How long the faults last together, in milliseconds. */
export function durationOf(faults: readonly Fault[]): number {
  return Math.max(...faults.map((fault) => (fault.kind === 'kill' ? 0 : fault.durationMs)));
}
