import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowFailedError } from '@temporalio/client';
import type { Environment } from '../../src/domain/index.ts';
import { inParallel } from './in-parallel.ts';
import type { UsedService } from './merchant.ts';

/** Where the gateway simulator is, and the credentials of its API. */
export interface SimulatorAccess {
  readonly baseUrl: string;
  readonly keyId: string;
  readonly keySecret: string;
}

/** The simulator of an environment of a service, with the credentials of the service's settings. */
export function simulatorAccessOf(
  { environment: settings }: Pick<UsedService, 'environment'>,
  environment: Environment = 'sandbox',
): SimulatorAccess {
  const setting = (name: string) => settings[`${environment.toUpperCase()}_RAZORPAY_${name}`] ?? '';
  return {
    baseUrl: setting('BASE_URL'),
    keyId: setting('KEY_ID'),
    keySecret: setting('KEY_SECRET'),
  };
}

/** The simulators of a service: that of the sandbox and, if there is one, that of production. */
export const simulatorsOf = (service: Pick<UsedService, 'environment'>): SimulatorAccess[] =>
  (['sandbox', 'production'] as const)
    .map((environment) => simulatorAccessOf(service, environment))
    .filter(({ baseUrl }) => baseUrl !== '');

const ANSWER_TIMEOUT_MS = 10_000;
const PAGE = 100;
const CODES_AT_ONCE = 8;

/** An answer of 4xx: the simulator refuses the call. */
class SimulatorRefused extends Error {}

/** Calls the simulator without the service's adapter: Razorpay's API, or a control route. */
export async function askSimulator<Answer>(
  { baseUrl, keyId, keySecret }: SimulatorAccess,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body: object = {},
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<Answer> {
  const response = await fetch(new URL(path, baseUrl), {
    method,
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      authorization: `Basic ${btoa(`${keyId}:${keySecret}`)}`,
      'content-type': 'application/json',
    },
    ...(method !== 'GET' && { body: JSON.stringify(body) }),
  });
  if (response.ok) return (await response.json()) as Answer;
  const text = `${path}: ${response.status} ${await response.text()}`;
  throw response.status < 500 ? new SimulatorRefused(text) : new Error(text);
}

/** Everything of a list of Razorpay's API, page by page, each until it is answered. @param path without a query */
export async function listAtGateway<Item>(access: SimulatorAccess, path: string): Promise<Item[]> {
  const all: Item[] = [];
  for (;;) {
    const page = `${path}?count=${PAGE}&skip=${all.length}`;
    const { items } = await untilDone(() =>
      askSimulator<{ items: readonly Item[] }>(access, 'GET', page),
    );
    all.push(...items);
    if (items.length < PAGE) return all;
  }
}

/**
 * What the gateway has of all captured payments, whether the service has them or not: its own JSON. `totals` are its own
 * sums, with `capturedPaise` and `feesPaise`, and whether they add up: `isBalanced`.
 */
export async function moneyAtGateway(access: SimulatorAccess) {
  const codes = await listAtGateway<{ id: string; payments_count_received: number }>(
    access,
    '/v1/payments/qr_codes',
  );
  const money = {
    captures: [] as object[],
    refunds: [] as object[],
    transfers: [] as object[],
    chargebacks: await listAtGateway<object>(access, '/v1/disputes'),
    totals: await askSimulator<object>(access, 'GET', '/simulator/totals'),
  };
  const paid = codes.filter((code) => code.payments_count_received > 0);
  await inParallel(paid, CODES_AT_ONCE, async ({ id: codeId }) => {
    const path = `/v1/payments/qr_codes/${codeId}/payments`;
    const payments = await listAtGateway<{ id: string; captured: boolean }>(access, path);
    for (const payment of payments.filter(({ captured }) => captured)) {
      money.captures.push(payment);
      for (const what of ['refunds', 'transfers'] as const) {
        const made = `/v1/payments/${payment.id}/${what}`;
        money[what].push(...(await listAtGateway<object>(access, made)));
      }
    }
  });
  return money;
}

const REPEAT_AFTER_MS = 500;
/** Longer than any outage of a run, and than the merchants' clients repeat a request. */
const REPEATED_FOR_MS = 900_000;

/** A refusal of the simulator, a workflow that has failed, or SQL that is wrong: a repeat would not help. */
const isPermanent = (error: unknown) =>
  error instanceof SimulatorRefused ||
  error instanceof WorkflowFailedError ||
  (error instanceof Error && 'code' in error && String(error.code).startsWith('42'));

/** Repeats an act while it fails, unless its error is permanent. @throws Error that of the act after 15 minutes */
export async function untilDone<Result>(act: () => Promise<Result>): Promise<Result> {
  const endsAt = performance.now() + REPEATED_FOR_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (isPermanent(error) || performance.now() > endsAt) throw error;
      await delay(REPEAT_AFTER_MS);
    }
  }
}

/** Calls a control route. A refusal says that an earlier call without an answer was carried out. */
export async function controlSimulator(
  access: SimulatorAccess,
  method: 'POST' | 'PATCH',
  path: string,
  body: object,
): Promise<void> {
  try {
    await untilDone(() => askSimulator(access, method, `/simulator${path}`, body));
  } catch (error) {
    if (!(error instanceof SimulatorRefused)) throw error;
  }
}
