import { setTimeout as delay } from 'node:timers/promises';
import { beginMood, endMoods } from '../../dev/load/moods.ts';
import type { MoodName } from '../../dev/gateway-simulator/moods.ts';
import { MOODS } from '../../dev/gateway-simulator/moods.ts';
import { askSimulator, controlSimulator, untilAnswered } from '../../dev/load/simulator.ts';
import type { System } from './system.ts';

/** The side that is restored from an earlier copy: the service's database, or Temporal's. */
export type Side = 'postgres' | 'temporal';
/** A process of the service. */
export type Part = 'worker' | 'api';

/** A fault of the service or of its environment. */
export type Disturbance =
  | {
      kind: 'callbackTrouble';
      dropProbability: number;
      duplicateProbability: number;
      mostDelayMs: number;
    }
  | { kind: 'gatewayOutage'; durationMs: number }
  | { kind: 'gatewayFault'; fault: 'reset' | 'error' | 'drop_answer'; probability: number }
  | { kind: 'gatewayMended' }
  | { kind: 'suspended' | 'activated'; merchant: number }
  /** Operators change rights and linked accounts: see dev/load/people. */
  | { kind: 'people' }
  /** What the gateway may do for a while, until what is pending ends: see dev/gateway-simulator/moods.ts. */
  | { kind: 'moodBegins' | 'moodEnds'; mood: MoodName }
  | { kind: 'shortMood'; mood: MoodName; durationMs: number }
  | { kind: 'endpointFault'; merchant: number; fault: 'always answers 500' | 'hangs' }
  | { kind: 'endpointMended'; merchant: number }
  | { kind: 'kill'; part: Part }
  | { kind: 'copy' | 'restore'; side: Side };

/** Starts a disturbance, and returns when everything that it killed or restored runs again. */
export async function disturb(system: System, disturbance: Disturbance): Promise<void> {
  const control = (method: 'POST' | 'PATCH', path: string, body: object) =>
    controlSimulator(system.simulator, method, path, body);
  switch (disturbance.kind) {
    case 'callbackTrouble': {
      const { dropProbability, duplicateProbability, mostDelayMs } = disturbance;
      const delayMs = { min: 0, max: mostDelayMs };
      const settings = { dropProbability, duplicateProbability, delayMs };
      return control('PATCH', '/callbacks', settings);
    }
    case 'gatewayOutage': {
      const { durationMs } = disturbance;
      return control('POST', '/outage', { durationMs });
    }
    case 'gatewayFault': {
      const { fault, probability } = disturbance;
      return control('POST', '/faults', { kind: fault, probability });
    }
    case 'gatewayMended':
      return endFaults(system);
    case 'endpointFault':
      return system.merchants[disturbance.merchant]!.receiver.behave(disturbance.fault);
    case 'endpointMended':
      return system.merchants[disturbance.merchant]!.receiver.behave('answers 200');
    case 'suspended':
    case 'activated':
      return system.setActive(disturbance.merchant, disturbance.kind === 'activated');
    case 'people':
      return system.people.round();
    case 'moodBegins':
      return beginMood(system.simulator, disturbance.mood);
    case 'moodEnds':
      return endMoods(system.simulator, [disturbance.mood], OUTCOMES);
    case 'shortMood': {
      const { mood, durationMs } = disturbance;
      await beginMood(system.simulator, mood);
      await delay(durationMs);
      return endMoods(system.simulator, [mood]);
    }
    case 'kill':
      return system.processes.killAndStart(disturbance.part);
    case 'copy':
      return system.copy(disturbance.side);
    case 'restore':
      return system.restore(disturbance.side);
  }
}

const endFaults = async ({ simulator }: System) =>
  void (await untilAnswered(() => askSimulator(simulator, 'DELETE', '/simulator/faults')));

/** Of the refunds and transfers that a mood has left pending, every third one fails. */
const OUTCOMES = ['processed', 'processed', 'failed'] as const;

/** Ends every remaining fault. */
export async function endDisturbances(system: System): Promise<void> {
  await endFaults(system);
  const undisturbed = { dropProbability: 0, duplicateProbability: 0, delayMs: { min: 0, max: 0 } };
  await controlSimulator(system.simulator, 'PATCH', '/callbacks', undisturbed);
  for (const merchant of system.merchants.keys()) await system.setActive(merchant, true);
  await endMoods(system.simulator, Object.keys(MOODS) as MoodName[], OUTCOMES);
  for (const { receiver } of system.merchants) receiver.behave('answers 200');
  await system.people.end();
}
