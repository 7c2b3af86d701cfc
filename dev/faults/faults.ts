import { setTimeout as delay } from 'node:timers/promises';
import { MOODS, type MoodName } from '../gateway-simulator/moods.ts';
import { beginMood, endMoods } from '../load/moods.ts';
import type { Allowed, LostTime } from '../load/oracle/service.ts';
import type { People } from '../load/people/people.ts';
import { byCommand, byTwo, untilDone } from '../load/operators.ts';
import { askSimulator, controlSimulator, untilAnswered } from '../load/simulator.ts';
import type { LinkTarget } from '../production-like/links.ts';
import type { MemberName } from '../production-like/start.ts';
import { copyDatabases, restoreDatabases, type Side } from './copies.ts';
import { kill, linksOf, namesOf, startMembers, type Run } from './run.ts';

/** A network that is cut: between all processes of one kind, or one of them, and a server. */
export interface Cut {
  readonly from: readonly MemberName[];
  readonly to: LinkTarget;
}

/** What happens to the service or its environment. Unless it has a duration, it stays until another one ends it. */
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
    }
  | { readonly kind: 'gatewayMended' }
  | { readonly kind: 'suspended' | 'activated'; readonly merchant: number }
  /** Operators change rights and linked accounts: see dev/load/people. */
  | { readonly kind: 'people' }
  /** What the gateway may do for a while, until what is pending ends: see dev/gateway-simulator/moods.ts. */
  | { readonly kind: 'moodBegins' | 'moodEnds'; readonly mood: MoodName }
  | { readonly kind: 'mood'; readonly mood: MoodName; readonly durationMs: number }
  | {
      readonly kind: 'endpointFault';
      readonly merchant: number;
      readonly fault: 'always answers 500' | 'hangs';
    }
  | { readonly kind: 'endpointMended'; readonly merchant: number }
  | { readonly kind: 'copy' | 'restore'; readonly side: Side };

/** A run with faults, and what is known of those that it had. */
export interface Disturbed {
  readonly run: Run;
  readonly people: People;
  readonly copiedAtMs: Record<Side, number>;
  /** What restores have lost of the service's database. */
  readonly lost: LostTime[];
  isTemporalRestored: boolean;
  /** How many APIs and workers were killed. */
  kills: number;
}

/** What an operator would have to look at, or a restore explains; nothing if each act leads where the plan says. */
export const allowedIn = ({ run, lost, isTemporalRestored }: Disturbed): Allowed =>
  run.deps.outcome === 'known'
    ? {}
    : {
        alerts: true,
        lost,
        missingWorkflows: isTemporalRestored,
        laterHolds: true,
        laterPayments: true,
        restsIn: ['ACCEPTED', 'PAID'],
      };

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
    case 'kill':
      if (/^(api|worker)-/.test(fault.victim)) disturbed.kills += 1;
      return cluster.member(fault.victim).signal('SIGKILL');
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
  { run, people }: Disturbed,
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
      return controlSimulator(simulator, 'POST', '/faults', body);
    }
    case 'gatewayMended':
      return endGatewayFaults(run);
    case 'endpointFault':
      return merchants[fault.merchant]?.receiver.behave(fault.fault);
    case 'endpointMended':
      return merchants[fault.merchant]?.receiver.behave('answers 200');
    case 'suspended':
    case 'activated':
      return setActive(run, fault.merchant, fault.kind === 'activated');
    case 'people':
      return people.round();
    case 'moodBegins':
      return beginMood(simulator, fault.mood);
    case 'moodEnds':
      return endMoods(simulator, [fault.mood], outcomesIn(deps));
    case 'mood':
      await beginMood(simulator, fault.mood);
      await lasts(fault.durationMs);
      return endMoods(simulator, [fault.mood]);
  }
}

const endGatewayFaults = async ({ deps }: Run) =>
  void (await untilAnswered(() => askSimulator(deps.simulator, 'DELETE', '/simulator/faults')));

/** Suspends a merchant, as an operator does, or activates it again, as two operators do. */
async function setActive({ deps, merchants }: Run, merchant: number, isActive: boolean) {
  const subject = merchants[merchant]?.merchantId ?? '';
  if (isActive) {
    const reason = 'The complaint is resolved';
    return byTwo(deps.environment, { kind: 'merchant.activate', subject, parameters: {}, reason });
  }
  const command = ['merchant', 'suspend', '--merchant', subject, '--reason', 'A complaint'];
  await untilDone(() => byCommand(deps.environment, command));
}

/** Restores a side as operators do, and then recovers both sides. */
async function restore(disturbed: Disturbed, side: Side): Promise<void> {
  const { run, copiedAtMs } = disturbed;
  if (side === 'postgres') {
    await restoreDatabases(run, side);
    disturbed.lost.push({ fromMs: copiedAtMs[side], toMs: Date.now() });
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

/** Ends every fault that lasts until another one ends it. */
export async function endFaults({ run, people }: Disturbed): Promise<void> {
  const { merchants, deps } = run;
  await endGatewayFaults(run);
  const undisturbed = { dropProbability: 0, duplicateProbability: 0, delayMs: { min: 0, max: 0 } };
  await controlSimulator(deps.simulator, 'PATCH', '/callbacks', undisturbed);
  for (const merchant of merchants.keys()) await setActive(run, merchant, true);
  await endMoods(deps.simulator, MOOD_NAMES, outcomesIn(deps));
  await people.end();
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
    default:
      return JSON.stringify(fault);
  }
}
