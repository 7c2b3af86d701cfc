import type { OrderStatus } from '../../src/domain/index.ts';
import type { Random } from '../gateway-simulator/random.ts';
import { actsWith, doAct, STAGES, type ActName, type Stage, type StageRules } from './acts.ts';
import { create } from './commands.ts';
import { newLoadOrder, type LoadDeps, type LoadOrder } from './order.ts';
import type { LoadMerchant } from './merchant.ts';

/** One order of a run. */
export interface OrderPlan {
  readonly amountPaise: number;
  /** Which of the run's merchants it belongs to. */
  readonly merchant: number;
  readonly isCreatedTwice: boolean;
  /** What is done to it after its creation. */
  readonly acts: readonly ActName[];
  /** Of its creation and each act: the wait before it, and whether its request is repeated once it was answered. */
  readonly pauses: readonly { readonly waitMs: number; readonly isRepeated: boolean }[];
  /** The status in which it ends; undefined if that depends on what comes first. */
  readonly ends: OrderStatus | undefined;
  /** The most payments of its buyer that the gateway can capture; undefined if one may be repeated. */
  readonly mostCaptures: number | undefined;
}

type PlannedAct = ReturnType<typeof actsWith>[number];

const LEAST_PAISE = 500;
const MOST_PAISE = 1_000_000;
const LONGEST_WAIT_MS = 4000;
const REPEATED = 0.15;
const CREATED_TWICE = 0.15;

/** Plans orders. The same random numbers give the same plan; each act is in one of the first orders. */
export function planOrders(
  { count, merchants, outcome }: { count: number; merchants: number } & Pick<LoadDeps, 'outcome'>,
  random: Random,
): OrderPlan[] {
  const possible = actsWith(outcome);
  return Array.from({ length: count }, (_, index) => {
    const wanted = possible[index];
    let walk = walkThrough(possible, random);
    while (wanted && !walk.acts.includes(wanted)) walk = walkThrough(possible, random);
    const { acts, stage } = walk;
    const { ends }: StageRules = STAGES[stage];
    const captures = acts.reduce((sum, act) => sum + act.captures, 0);
    return {
      amountPaise: LEAST_PAISE + Math.floor(random.next() * (MOST_PAISE - LEAST_PAISE)),
      merchant: Math.floor(random.next() * merchants),
      isCreatedTwice: random.next() < CREATED_TWICE,
      acts: acts.map(({ name }) => name),
      pauses: [undefined, ...acts].map(() => ({
        waitMs: Math.floor(random.next() * LONGEST_WAIT_MS),
        isRepeated: random.next() < REPEATED,
      })),
      ends: outcome === 'known' ? ends : undefined,
      mostCaptures: outcome === 'known' && captures < Infinity ? captures : undefined,
    };
  });
}

/** Random acts until the order rests. */
function walkThrough(
  possible: readonly PlannedAct[],
  random: Random,
): { acts: PlannedAct[]; stage: Stage } {
  const acts: PlannedAct[] = [];
  for (let stage: Stage = 'new'; ;) {
    const { rests = 0 }: StageRules = STAGES[stage];
    const next = possible.filter(({ moves }) => moves[stage]);
    if (next.length === 0 || random.next() < rests) return { acts, stage };
    const act = chosenFrom(next, random);
    acts.push(act);
    stage = act.moves[stage] ?? stage;
  }
}

function chosenFrom(acts: readonly PlannedAct[], random: Random): PlannedAct {
  const total = acts.reduce((sum, { weight }) => sum + weight, 0);
  let left = random.next() * total;
  const chosen = acts.find(({ weight }) => (left -= weight) < 0) ?? acts[0];
  if (chosen === undefined) throw new Error('There is nothing to choose from');
  return chosen;
}

/** The orders of a plan, before their creation. */
export const ordersOf = (
  deps: LoadDeps,
  merchants: readonly LoadMerchant[],
  plans: readonly OrderPlan[],
): PlannedOrder[] =>
  plans.map((plan) => {
    const merchant = merchants[plan.merchant];
    if (!merchant) throw new Error(`There is no merchant ${plan.merchant}`);
    const order = newLoadOrder(deps, merchant, plan.amountPaise);
    const { mostCaptures } = plan;
    if (mostCaptures !== undefined) order.acknowledged.mostCaptures = mostCaptures;
    return { ...order, plan };
  });

/** An order, and what is done to it. */
export interface PlannedOrder extends LoadOrder {
  readonly plan: OrderPlan;
}

/**
 * Carries out one part of the plan of an order: 0 is its creation, followed by its acts. An order that was not
 * created has no acts.
 *
 * @throws Error without an answer
 */
export async function perform(order: PlannedOrder, index: number): Promise<void> {
  const { plan, acknowledged } = order;
  const { isRepeated = false } = plan.pauses[index] ?? {};
  const name = plan.acts[index - 1];
  if (index === 0) await create(order, { times: plan.isCreatedTwice ? 2 : 1, isRepeated });
  else if (name !== undefined && order.orderNumber !== '') await doAct(order, name, isRepeated);
  if (index === plan.acts.length && plan.ends) acknowledged.finalStatus = plan.ends;
}
