import { setTimeout as delay } from 'node:timers/promises';
import { MOODS, type MoodName } from '../gateway-simulator/moods.ts';
import { beginMood, endMoods } from '../load/moods.ts';
import type { Allowed, LostTime } from '../load/oracle/service.ts';
import { activateMerchant } from '../load/operators.ts';
import { askSimulator, controlSimulator, untilDone } from '../load/simulator.ts';
import type { LinkTarget } from '../production-like/links.ts';
import type { MemberName } from '../production-like/start.ts';
import { copyDatabases, restoreDatabases, type Side } from './copies.ts';
import { kill, linksOf, namesOf, startMembers, type Run } from './run.ts';

/** A network that is cut: between all processes of one kind, or one of them, and a server. */
export interface Cut {
  readonly from: readonly MemberName[];
  readonly to: LinkTarget;
}

/** What happens to the service or its environment. */
export type Fault =
  | { readonly kind: 'kill'; readonly victim: MemberName }
  | { readonly kind: 'freeze'; readonly victim: MemberName; readonly durationMs: number }
  | {
      readonly kind: 'cut';
      readonly cut: Cut;
      /** Whether connections are refused, or accepted without an answer. */
      readonly how: 'refuse' | 'hang';
      readonly durationMs: number;
    }
  | {
      readonly kind: 'callbackTrouble';
      readonly dropProbability: number;
      readonly duplicateProbability: number;
      readonly mostDelayMs: number;
    }
  | {
      readonly kind: 'gatewayFault';
      readonly fault: 'reset' | 'error' | 'drop_answer';
      readonly probability: number;
      readonly durationMs: number;
    }
  | { readonly kind: 'suspended'; readonly merchant: number; readonly durationMs: number }
  /** Operators change a linked account, while orders are paid: see dev/load/people.ts. */
  | { readonly kind: 'people' }
  /** What the gateway may do for a while, until what is pending ends: see dev/gateway-simulator/moods.ts. */
  | { readonly kind: 'mood'; readonly mood: MoodName; readonly durationMs: number }
  | {
      readonly kind: 'endpointFault';
      readonly merchant: number;
      readonly fault: 'always answers 500' | 'hangs';
      readonly durationMs: number;
    }
  | { readonly kind: 'copy' | 'restore'; readonly side: Side };

/** What is next in a lane: faults at the same time, after a wait. */
export interface Turn {
  readonly waitMs: number;
  readonly faults: readonly Fault[];
}

/** A run with faults, and what is known of those that it had. */
export interface Disturbed {
  readonly run: Run;
  readonly people: () => Promise<void>;
  readonly copiedAtMs: Record<Side, number>;
  /** What restores have lost of the service's database. */
  readonly lost: LostTime[];
  isTemporalRestored: boolean;
  /** The merchants that are suspended now. */
  readonly suspended: Set<string>;
  /** How many APIs and workers were killed. */
  kills: number;
}

/** What an operator would have to look at, or a restore explains; nothing if each act leads where the plan says. */
export const allowedIn = ({ run, lost, isTemporalRestored }: Disturbed): Allowed =>
  run.deps.outcome === 'known'
    ? {}
    : { alerts: true, lost, missingWorkflows: isTemporalRestored, isOpen: true };

/** Of the refunds and transfers that a mood has left pending, every third one fails. */
const OUTCOMES = ['processed', 'processed', 'failed'] as const;
const MOOD_NAMES = Object.keys(MOODS) as MoodName[];

const outcomesIn = ({ outcome }: Run['deps']) => (outcome === 'open' ? OUTCOMES : undefined);

/**
 * Begins a fault, and ends it after its time. A killed process is started again by its supervisor.
 *
 * @param signal ends it before its time
 */
export async function inflict(
  disturbed: Disturbed,
  fault: Fault,
  signal?: AbortSignal,
): Promise<void> {
  const { run } = disturbed;
  const { cluster } = run;
  const lasts = (durationMs: number) =>
    delay(durationMs, undefined, { signal }).catch(() => undefined);
  switch (fault.kind) {
    case 'kill': {
      const member = cluster.member(fault.victim);
      if (/^(api|worker)-/.test(fault.victim)) disturbed.kills += 1;
      member.signal('SIGKILL');
      // Where it is not measured how soon the service is back, the next fault does not meet a process that starts.
      return run.deps.outcome === 'open' ? member.untilReady() : undefined;
    }
    case 'freeze': {
      const member = cluster.member(fault.victim);
      member.signal('SIGSTOP');
      await lasts(fault.durationMs);
      return member.signal('SIGCONT');
    }
    case 'cut': {
      const links = linksOf(run, fault.cut.from, fault.cut.to);
      await Promise.all(links.map(async (link) => link[fault.how]()));
      await lasts(fault.durationMs);
      return void (await Promise.all(links.map((link) => link.forward())));
    }
    case 'copy':
      disturbed.copiedAtMs[fault.side] = Date.now();
      return copyDatabases(run, fault.side);
    case 'restore':
      return restore(disturbed, fault.side);
    default:
      return disturb(disturbed, fault, lasts);
  }
}

type Outer = Exclude<Fault, { readonly kind: 'kill' | 'freeze' | 'cut' | 'copy' | 'restore' }>;

/** Does what a gateway, an endpoint or people do. @param lasts waits for the duration of a fault */
async function disturb(
  { run, people, suspended }: Disturbed,
  fault: Outer,
  lasts: (durationMs: number) => Promise<void>,
): Promise<void> {
  const { merchants, deps } = run;
  const { simulator } = deps;
  switch (fault.kind) {
    case 'callbackTrouble': {
      const { dropProbability, duplicateProbability, mostDelayMs } = fault;
      const body = { dropProbability, duplicateProbability, delayMs: { min: 0, max: mostDelayMs } };
      return controlSimulator(simulator, 'PATCH', '/callbacks', body);
    }
    case 'gatewayFault': {
      const body = { kind: fault.fault, probability: fault.probability };
      await controlSimulator(simulator, 'POST', '/faults', body);
      await lasts(fault.durationMs);
      return void (await untilDone(() => askSimulator(simulator, 'DELETE', '/simulator/faults')));
    }
    case 'endpointFault': {
      const { receiver } = merchants[fault.merchant] ?? run.merchant;
      receiver.behave(fault.fault);
      await lasts(fault.durationMs);
      return receiver.behave('answers 200');
    }
    case 'suspended': {
      const { merchantId } = merchants[fault.merchant] ?? run.merchant;
      suspended.add(merchantId);
      const suspend = ['merchant', 'suspend', '--merchant', merchantId, '--reason', 'A complaint'];
      await untilDone(() => run.admin(...suspend));
      await lasts(fault.durationMs);
      await activateMerchant(deps.environment, merchantId);
      return void suspended.delete(merchantId);
    }
    case 'people':
      return people();
    case 'mood':
      await beginMood(simulator, fault.mood);
      await lasts(fault.durationMs);
      return endMoods(simulator, [fault.mood], outcomesIn(deps));
  }
}

/** Restores a side as operators do, and then recovers both sides. */
async function restore(disturbed: Disturbed, side: Side): Promise<void> {
  const { run, copiedAtMs } = disturbed;
  if (side === 'postgres') {
    await restoreDatabases(run, side);
    disturbed.lost.push({ fromMs: copiedAtMs[side], toMs: Date.now() });
    // It has brought back what has ended since. The merchants' clients would wait for that.
    for (const { merchantId } of run.merchants) {
      if (disturbed.suspended.has(merchantId)) continue;
      await activateMerchant(run.deps.environment, merchantId);
    }
  } else {
    // A worker caches workflows as they were before the restore.
    disturbed.isTemporalRestored = true;
    const names = namesOf(run, 'api', 'worker');
    await Promise.all(names.map((name) => kill(run, name)));
    await restoreDatabases(run, side);
    await startMembers(run, names);
  }
  await recoverAll(run);
}

/** Recovers both sides. Repeated if the gateway does not respond: it is asked for what the database has lost. */
export const recoverAll = (run: Run) => untilDone(() => run.admin('order', 'recover', '--all'));

/** Ends what has no duration, and what is pending at the gateway. */
export async function endFaults({ run }: Disturbed): Promise<void> {
  const { deps } = run;
  const undisturbed = { dropProbability: 0, duplicateProbability: 0, delayMs: { min: 0, max: 0 } };
  await controlSimulator(deps.simulator, 'PATCH', '/callbacks', undisturbed);
  await endMoods(deps.simulator, MOOD_NAMES, outcomesIn(deps));
}

/** A fault in a few words: its parts. */
export const faultText = (fault: Fault): string =>
  Object.values(fault)
    .map((part: unknown) => (typeof part === 'string' ? part : JSON.stringify(part)))
    .join(' ');
