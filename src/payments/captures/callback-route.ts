import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { raiseAlert } from '../../alerts/alerts.ts';
import type { BackgroundWork } from '../../background-work.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import { defineRoute } from '../../http/define-route.ts';
import { envelopeOf, success } from '../../http/responses/response.ts';
import { HttpRefusal } from '../../http/responses/errors.ts';
import type { Limiter } from '../../limiter.ts';
import { createSlots, limiterByEnvironment } from '../../http/limits/slots.ts';
import type { GatewayAdapter } from '../gateway/adapter.ts';
import type { CaptureDeps } from './captures.ts';
import { confirmPayment, recordPayment, recordSessionClosed } from './captures.ts';
import { recheckTransfer } from '../funds/funds.ts';
import type {
  CallbackHeaders,
  GatewayEvent,
  RefundOrChargeback,
  VerifiedCallback,
} from '../gateway/gateway-objects.ts';
import { isCaptured } from '../gateway/gateway-objects.ts';
import type { GatewayRef } from '../gateway/gateways.ts';
import { gatewaySubject } from '../gateway/gateways.ts';
import type { NewCallback } from './capture-queries.ts';
import { findPaymentAt, writeCallback } from './capture-queries.ts';
import {
  isOurs,
  recordChargebackNow,
  recordRefundsOf,
  recordReversal,
  refundAgainIfBooked,
} from '../reversals/reversals.ts';

/** Gateways wait at least 5 s. After this time the response is sent and processing continues. */
export const RESPOND_WITHIN_MS = 1500;

/**
 * How many signed callbacks of an environment are processed at the same time: of one gateway, and of all. The gateway
 * repeats the others, and reconciliation finds their payments.
 */
const CALLBACKS_AT_ONCE = { ofOne: 32, ofAll: 64 };

export interface CallbackRouteDeps extends CaptureDeps {
  /** Has what is still processed after its answer. */
  background: BackgroundWork;
  /** Replaces the 1.5 s after which a callback is answered, for tests that wait for the processing. */
  callbackTimeoutMs?: number | undefined;
}

/**
 * The routes of gateway callbacks. Each checks the signature over the raw bytes, stores the callback, then processes
 * it. If the process dies after that, reconciliation continues: the row says which payment is not confirmed yet.
 */
export function callbackRoutes(
  deps: CallbackRouteDeps,
  adapters: readonly GatewayAdapter[],
): Route[] {
  const slots = limiterByEnvironment(() =>
    createSlots(CALLBACKS_AT_ONCE, 'Too many callbacks at the same time: send it again'),
  );
  return adapters.flatMap((adapter) =>
    ENVIRONMENTS.map((environment) =>
      callbackRoute({ ...deps, slots: slots[environment] }, adapter, environment),
    ),
  );
}

interface CallbackDeps extends CallbackRouteDeps {
  slots: Limiter;
}

/** The environment is part of the path, so other paths are unknown. */
function callbackRoute(
  deps: CallbackDeps,
  { name: gateway, callback }: GatewayAdapter,
  environment: Environment,
): Route {
  const { path, signatureHeader, otherHeaders } = callback;
  const names = [signatureHeader, ...otherHeaders];
  return defineRoute({
    method: 'POST',
    base: 'root',
    isCallback: true,
    path: `${path}/${environment}`,
    operationId: `${gateway}Callback ${environment}`,
    headers: z.object(Object.fromEntries(names.map((name) => [name, z.string().optional()]))),
    bodyType: 'unparsed',
    body: z.looseObject({}),
    responses: { 200: { description: 'Received', schema: envelopeOf(z.null()) } },
    errors: ['UNAUTHORIZED', 'TOO_MANY_REQUESTS'],
  }).handledBy(async ({ headers, rawBody = Buffer.alloc(0) }) => {
    const from = { gateway, environment };
    // A gateway that is not configured has no secret, so no signature is valid.
    const result = deps.gateways.find(from)?.parseCallback(rawBody, lowerCased(headers));
    if (!result?.verified) {
      const challenge = { 'WWW-Authenticate': `Signature header="${signatureHeader}"` };
      throw new HttpRefusal('UNAUTHORIZED', challenge, 'Invalid signature');
    }
    await receive(deps, from, result, rawBody.toString('utf8'));
    return { status: 200, body: success('Received', null) };
  });
}

function lowerCased(headers: CallbackHeaders): CallbackHeaders {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

/** Waits until the callback is processed, at most 1.5 s once it is stored. It has its slot until it is processed. */
async function receive(
  deps: CallbackDeps,
  from: GatewayRef,
  callback: VerifiedCallback,
  body: string,
): Promise<void> {
  const { slots, callbackTimeoutMs = RESPOND_WITHIN_MS } = deps;
  const stored = Promise.withResolvers<void>();
  const processed = slots.run(from.gateway, async () => {
    if (callback.event === null) return storeMalformed(deps, from, callback.eventId, body);
    const { event } = callback;
    const { eventId, name } = event;
    const written = { ...from, eventId, event: name, body, reports: reportOf(event) };
    const storedAt = await writeCallback(deps.sql, written);
    if (storedAt === undefined) return;
    stored.resolve();
    await processEvent(deps, from, event, storedAt).catch((err: unknown) =>
      deps.log.error({ err, event: name }, 'A callback failed: reconciliation processes it'),
    );
  });
  // The request answers with a failure itself.
  deps.background.begin(() => processed.catch(() => undefined));
  const timeout = stored.promise.then(() => sleep(callbackTimeoutMs, undefined, { ref: false }));
  await Promise.race([processed, timeout]);
}

/** What the database may know already, or keeps as unconfirmed. */
function reportOf(event: GatewayEvent): NewCallback['reports'] {
  const { type } = event;
  if (type === 'session_closed') return { type, gatewaySessionId: event.gatewaySessionId };
  if (type === 'payment') {
    const { payment, gatewaySessionId } = event;
    const { gatewayPaymentId, orderNumber, status, refundedPaise, utr } = payment;
    const reported = { gatewayPaymentId, orderNumber, status, refundedPaise, utr };
    return isCaptured(payment) ? { type: 'capture', ...reported, gatewaySessionId } : null;
  }
  if (type !== 'refund_or_chargeback') return null;
  const { gatewayPaymentId, kind, state } = event.found;
  const by = isOurs(event.found) ? 'this service' : 'others';
  if (by === 'this service' && state !== 'failed') return null;
  if (kind === 'chargeback') return { type: kind, gatewayPaymentId };
  return { type: kind, gatewayPaymentId, by };
}

/** Answers 200, because a gateway repeats a refused callback for a day. */
async function storeMalformed(
  deps: CaptureDeps,
  from: GatewayRef,
  eventId: string,
  body: string,
): Promise<void> {
  await writeCallback(deps.sql, { ...from, eventId, event: 'not_understood', body, reports: null });
  await raiseAlert(deps, {
    kind: 'callback_not_understood',
    subject: gatewaySubject(from.gateway, from.environment),
    message: 'A signed callback has an unknown form: see gateway_callbacks',
    fields: { ...from, eventId },
  });
}

async function processEvent(
  deps: CaptureDeps,
  at: GatewayRef,
  event: GatewayEvent,
  storedAt: string,
): Promise<void> {
  switch (event.type) {
    case 'ignored':
      return;
    case 'session_closed':
      return recordSessionClosed(deps, { at, ...event });
    case 'payment': {
      const { payment, gatewaySessionId } = event;
      const { gatewayPaymentId } = payment;
      if (isCaptured(payment)) {
        const reported = { ...at, gatewayPaymentId, gatewaySessionId };
        // The gateway is asked after this time: the answer confirms this callback and earlier ones, and none that came since.
        return confirmPayment(deps, { ...reported, askedAt: storedAt });
      }
      await recordPayment(deps, { at, payment, gatewaySessionId });
      return;
    }
    case 'transfer':
      return recheckTransfer(deps, { ...event, gateway: at.gateway });
    case 'refund_or_chargeback':
      return processRefundOrChargeback(deps, at, event.found);
  }
}

/**
 * Asks the gateway for the refunds of the payment, or for the chargeback, and records what it answers. Only that a
 * chargeback is open is believed at once, because it blocks the money until the gateway has answered.
 */
async function processRefundOrChargeback(
  deps: CaptureDeps,
  at: GatewayRef,
  found: RefundOrChargeback,
): Promise<void> {
  const { gatewayPaymentId, kind, state, reversalId } = found;
  const payment = { ...at, gatewayPaymentId };
  if (isOurs(found)) {
    if (state === 'failed') await refundAgainIfBooked(deps, payment);
    return;
  }
  // A reversal needs the row of its payment, so the payment is recorded first.
  if (!(await findPaymentAt(deps.sql, payment))) await confirmPayment(deps, payment);
  if (kind === 'refund') return void (await recordRefundsOf(deps, at, gatewayPaymentId));
  if (state === 'open') await recordReversal(deps, at, found, 'callback');
  await recordChargebackNow(deps, at, reversalId);
}
