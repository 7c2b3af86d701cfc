import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { raiseAlert } from '../alerts/alerts.ts';
import type { Environment } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { envelopeOf, success } from '../http/envelope.ts';
import { HttpRefusal } from '../http/errors.ts';
import type { GatewayAdapter } from './adapter.ts';
import type { CaptureDeps } from './captures.ts';
import { recordGatewayPayment, recordSessionClosed } from './captures.ts';
import type { CallbackHeaders, GatewayEvent } from './gateway.ts';
import type { OrderGateway } from './gateways.ts';
import { gatewaySubject } from './gateways.ts';
import { writeCallback } from './queries.ts';
import { recordChargeback, recordRefund } from './reversals.ts';

/** Gateways wait at least 5 s. Past this the response is sent; the stored callback is still processed. */
const ANSWER_WITHIN_MS = 1500;

const ENVIRONMENTS = ['sandbox', 'production'] as const;

/**
 * Where the gateways call back: the signature is checked on the raw bytes, the callback is stored,
 * then acted upon. What is lost after that, reconciliation finds.
 */
export function callbackRoutes(deps: CaptureDeps, adapters: readonly GatewayAdapter[]): Route[] {
  return adapters.flatMap((adapter) =>
    ENVIRONMENTS.map((environment) => callbackRoute(deps, adapter, environment)),
  );
}

/** Each environment has a path, so that any other path is unknown. */
function callbackRoute(
  deps: CaptureDeps,
  { name: gateway, callback }: GatewayAdapter,
  environment: Environment,
): Route {
  const { path, signatureHeader, otherHeaders } = callback;
  const names = [signatureHeader, ...otherHeaders];
  return defineRoute({
    method: 'POST',
    base: 'root',
    caller: 'public',
    path: `${path}/${environment}`,
    operationId: `${gateway}Callback ${environment}`,
    summary: 'Callbacks of the payment gateway',
    description: `Signed with \`${signatureHeader}\`; called by the gateway alone.`,
    tags: ['Gateway'],
    headers: z.object(Object.fromEntries(names.map((name) => [name, z.string().optional()]))),
    body: z.looseObject({}),
    responses: { 200: { description: 'Received', schema: envelopeOf(z.null()) } },
    errors: ['UNAUTHORIZED'],
  }).handledBy(async ({ headers, rawBody = Buffer.alloc(0) }) => {
    const from = { gateway, environment };
    // A gateway that is not configured has no secret, so no signature is right.
    const result = deps.gateways.find(from)?.parseCallback(rawBody, lowerCased(headers));
    const body = rawBody.toString('utf8');
    if (result?.verified) await receive(deps, from, result.event, body);
    else if (result?.reason === 'body_malformed') {
      await storeMalformed(deps, from, result.eventId, body);
    } else {
      const challenge = { 'WWW-Authenticate': `Signature header="${signatureHeader}"` };
      throw new HttpRefusal('UNAUTHORIZED', challenge, 'Invalid signature');
    }
    return { status: 200, body: success('Received', null) };
  });
}

function lowerCased(headers: CallbackHeaders): CallbackHeaders {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

async function receive(
  deps: CaptureDeps,
  from: OrderGateway,
  event: GatewayEvent,
  body: string,
): Promise<void> {
  const { eventId, name } = event;
  await writeCallback(deps.sql, { ...from, eventId, event: name, body });
  const acting = act(deps, from, event).catch((err: unknown) =>
    deps.log.error({ err, event: name }, 'A callback is left to reconciliation'),
  );
  await Promise.race([acting, sleep(ANSWER_WITHIN_MS, undefined, { ref: false })]);
}

/** It gets 200: a gateway sends a refused callback again for a day. */
async function storeMalformed(
  deps: CaptureDeps,
  from: OrderGateway,
  eventId: string,
  body: string,
): Promise<void> {
  await writeCallback(deps.sql, { ...from, eventId, event: 'not_understood', body });
  await raiseAlert(deps, {
    kind: 'callback_not_understood',
    subject: gatewaySubject(from.gateway, from.environment),
    message: 'A signed callback is in no known form: it is in gateway_callbacks',
    fields: { ...from, eventId },
  });
}

async function act(deps: CaptureDeps, from: OrderGateway, event: GatewayEvent): Promise<void> {
  if (event.type === 'session_closed') {
    return recordSessionClosed(deps, from, event.session.gatewaySessionId);
  }
  if (event.type === 'ignored') return;
  if ('gatewaySessionId' in event) {
    return recordGatewayPayment(deps, from, event.payment, event.gatewaySessionId);
  }
  const { payment } = event;
  const record = reversalRecorder(deps, from, event);
  if ((await record()) !== 'unknown_payment' || payment === null) return;
  // The payment was not recorded: an order without a payment cannot have taken it.
  await recordGatewayPayment(deps, from, payment, null);
  await record();
}

type ReversalEvent = Extract<GatewayEvent, { refund: object } | { chargeback: object }>;

function reversalRecorder(deps: CaptureDeps, from: OrderGateway, event: ReversalEvent) {
  return event.type === 'chargeback'
    ? () => recordChargeback(deps, from, event.chargeback)
    : () => recordRefund(deps, from, event.refund);
}
