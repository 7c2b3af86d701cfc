import { setTimeout as delay } from 'node:timers/promises';
import type { DevFacts } from '../dev-facts.ts';

/** Where the gateway simulator is, and the credentials of its API. */
export interface SimulatorAccess {
  readonly baseUrl: string;
  readonly keyId: string;
  readonly keySecret: string;
}

/** The simulator of a service, with the credentials of the service's settings. */
export function simulatorAccessOf({
  gatewayUrl: baseUrl,
  facts: { environment: settings },
}: {
  readonly gatewayUrl: string;
  readonly facts: Pick<DevFacts, 'environment'>;
}): SimulatorAccess {
  const keyId = settings['SANDBOX_RAZORPAY_KEY_ID'] ?? '';
  const keySecret = settings['SANDBOX_RAZORPAY_KEY_SECRET'] ?? '';
  return { baseUrl, keyId, keySecret };
}

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

/** A captured payment, with what the gateway has made of it. */
export interface GatewayMoney {
  readonly paymentId: string;
  readonly orderNumber: string | undefined;
  readonly amountPaise: number;
  readonly refunds: readonly GatewayRefund[];
  readonly transfers: readonly {
    readonly status: string;
    readonly amount: number;
    readonly amount_reversed: number;
    readonly on_hold: boolean;
  }[];
}

interface Listed<Item> {
  readonly items: readonly Item[];
}

/** A payment as the gateway shows it. */
export interface GatewayCapture {
  readonly id: string;
  readonly amount: number;
  readonly captured: boolean;
  readonly notes: { readonly order_number?: string };
}

/** Every payment that was captured at the gateway, whether the service has it or not. */
export async function capturedAtGateway(access: SimulatorAccess): Promise<GatewayCapture[]> {
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

/** Every captured payment with its refunds and transfers. */
export async function moneyAtGateway(access: SimulatorAccess): Promise<GatewayMoney[]> {
  const queue = (await capturedAtGateway(access)).values();
  const money: GatewayMoney[] = [];
  const take = async () => {
    for (const { id, amount, notes } of queue) {
      const list = async <Item>(what: 'refunds' | 'transfers') => {
        const path = `/v1/payments/${id}/${what}?count=${PAGE}`;
        return (await askSimulator<Listed<Item>>(access, 'GET', path)).items;
      };
      money.push({
        paymentId: id,
        orderNumber: notes.order_number,
        amountPaise: amount,
        refunds: await list('refunds'),
        transfers: await list('transfers'),
      });
    }
  };
  await Promise.all(Array.from({ length: PAYMENTS_AT_ONCE }, take));
  return money;
}

/** A chargeback as the gateway shows it. */
interface GatewayChargeback {
  readonly id: string;
  readonly payment_id: string;
  readonly amount: number;
  readonly status: string;
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

const REPEAT_AFTER_MS = 500;
const REPEATED_FOR_MS = 180_000;

/**
 * Calls a control route, and repeats the call while it gets no answer.
 *
 * @returns undefined if the simulator refuses
 */
export async function controlSimulator<Answer>(
  access: SimulatorAccess,
  path: string,
  body: object = {},
): Promise<Answer | undefined> {
  const endsAt = performance.now() + REPEATED_FOR_MS;
  for (;;) {
    try {
      return await askSimulator<Answer>(access, 'POST', `/simulator${path}`, body);
    } catch (error) {
      if (error instanceof SimulatorRefused) return undefined;
      if (performance.now() > endsAt) throw error;
      await delay(REPEAT_AFTER_MS);
    }
  }
}
