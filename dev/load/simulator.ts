import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '../../src/domain/index.ts';
import { inParallel } from './in-parallel.ts';

/** Where the gateway simulator is, and the credentials of its API. */
export interface SimulatorAccess {
  readonly baseUrl: string;
  readonly keyId: string;
  readonly keySecret: string;
}

interface ServiceWithGateway {
  readonly environment: Readonly<Record<string, string>>;
}

/** The simulator of an environment of a service, with the credentials of the service's settings. */
export function simulatorAccessOf(
  { environment: settings }: ServiceWithGateway,
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
export const simulatorsOf = (service: ServiceWithGateway): SimulatorAccess[] =>
  (['sandbox', 'production'] as const)
    .map((environment) => simulatorAccessOf(service, environment))
    .filter(({ baseUrl }) => baseUrl !== '');

const ANSWER_TIMEOUT_MS = 10_000;
const PAGE = 100;
const PAYMENTS_AT_ONCE = 8;

/** An answer of 4xx: the simulator refuses the call. */
class SimulatorRefused extends Error {}

/** Calls the simulator without the service's adapter: Razorpay's API, or a control route. */
export async function askSimulator<Answer>(
  { baseUrl, keyId, keySecret }: SimulatorAccess,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body: object = {},
): Promise<Answer> {
  const response = await fetch(new URL(path, baseUrl), {
    method,
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
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

/** A refund as the gateway shows it; `created_at` in Unix seconds. */
export interface GatewayRefund {
  readonly id: string;
  readonly amount: number;
  readonly status: string;
  readonly notes: { readonly idempotency_key?: string };
  readonly created_at: number;
}

/** A chargeback as the gateway shows it. */
interface GatewayChargeback {
  readonly id: string;
  readonly payment_id: string;
  readonly amount: number;
  readonly status: string;
}

/** A captured payment, with what the gateway has made of it. */
export interface GatewayMoney {
  readonly paymentId: string;
  readonly orderNumber: string | undefined;
  readonly amountPaise: number;
  readonly refunds: readonly GatewayRefund[];
  readonly transfers: readonly {
    /** The linked account. */
    readonly recipient: string;
    readonly status: string;
    readonly amount: number;
    readonly amount_reversed: number;
    /** In Unix seconds. */
    readonly created_at: number;
    readonly on_hold: boolean;
  }[];
  readonly chargebacks: readonly GatewayChargeback[];
}

interface Listed<Item> {
  readonly items: readonly Item[];
}

/** A payment as the gateway shows it. */
interface GatewayCapture {
  readonly id: string;
  readonly amount: number;
  readonly captured: boolean;
  readonly notes: { readonly order_number?: string };
}

/** Every payment that was captured at the gateway, whether the service has it or not. */
async function capturedAtGateway(access: SimulatorAccess): Promise<GatewayCapture[]> {
  const captured: GatewayCapture[] = [];
  for (let skip = 0; ; skip += PAGE) {
    const { items } = await askSimulator<Listed<{ id: string; payments_count_received: number }>>(
      access,
      'GET',
      `/v1/payments/qr_codes?count=${PAGE}&skip=${skip}`,
    );
    for (const { id } of items.filter((code) => code.payments_count_received > 0)) {
      const path = `/v1/payments/qr_codes/${id}/payments?count=${PAGE}`;
      const payments = await askSimulator<Listed<GatewayCapture>>(access, 'GET', path);
      captured.push(...payments.items.filter((payment) => payment.captured));
    }
    if (items.length < PAGE) return captured;
  }
}

/** What buyers' banks have taken of a payment, in paise. */
export const lostPaise = ({ chargebacks }: Pick<GatewayMoney, 'chargebacks'>): number =>
  chargebacks
    .filter(({ status }) => status === 'lost')
    .reduce((sum, { amount }) => sum + amount, 0);

/** Every captured payment with its refunds, transfers and chargebacks. */
export async function moneyAtGateway(access: SimulatorAccess): Promise<GatewayMoney[]> {
  const chargebacks = Map.groupBy(await chargebacksAtGateway(access), (one) => one.payment_id);
  const money: GatewayMoney[] = [];
  const captured = await capturedAtGateway(access);
  await inParallel(captured, PAYMENTS_AT_ONCE, async ({ id, amount, notes }) => {
    const path = `/v1/payments/${id}/transfers`;
    type Transfers = Listed<GatewayMoney['transfers'][number]>;
    money.push({
      paymentId: id,
      orderNumber: notes.order_number,
      amountPaise: amount,
      refunds: await refundsAtGateway(access, id),
      transfers: (await askSimulator<Transfers>(access, 'GET', path)).items,
      chargebacks: chargebacks.get(id) ?? [],
    });
  });
  return money;
}

/** Every chargeback. */
export async function chargebacksAtGateway(access: SimulatorAccess): Promise<GatewayChargeback[]> {
  const chargebacks: GatewayChargeback[] = [];
  for (;;) {
    const path = `/v1/disputes?count=${PAGE}&skip=${chargebacks.length}`;
    const { items } = await askSimulator<Listed<GatewayChargeback>>(access, 'GET', path);
    chargebacks.push(...items);
    if (items.length < PAGE) return chargebacks;
  }
}

/** The refunds of a payment. */
export async function refundsAtGateway(
  access: SimulatorAccess,
  paymentId: string,
): Promise<readonly GatewayRefund[]> {
  const path = `/v1/payments/${paymentId}/refunds?count=${PAGE}`;
  return (await askSimulator<Listed<GatewayRefund>>(access, 'GET', path)).items;
}

const REPEAT_AFTER_MS = 500;
const REPEATED_FOR_MS = 180_000;

/** Repeats calls of the simulator while they get no answer. @throws SimulatorRefused */
export async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const endsAt = performance.now() + REPEATED_FOR_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof SimulatorRefused || performance.now() > endsAt) throw error;
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
    await untilAnswered(() => askSimulator(access, method, `/simulator${path}`, body));
  } catch (error) {
    if (!(error instanceof SimulatorRefused)) throw error;
  }
}
