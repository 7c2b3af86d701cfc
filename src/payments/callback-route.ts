import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { raiseAlert } from '../alerts/alerts.ts';
import type { Environment } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { envelopeOf, success } from '../http/envelope.ts';
import { HttpRefusal } from '../http/errors.ts';
import type { CaptureDeps } from './captures.ts';
import { notePayment, noteSessionClosed } from './captures.ts';
import type { CallbackHeaders, GatewayEvent } from './gateway.ts';
import { writeCallback } from './queries.ts';
import { noteChargeback, noteRefund } from './reversals.ts';

/** The gateway waits 5 s; past this we answer and go on, for the callback is in the book. */
const ANSWER_WITHIN_MS = 1500;

/** How the gateway authenticates itself, for a 401. */
const CHALLENGE = { 'WWW-Authenticate': 'Signature header="X-Razorpay-Signature"' };

/**
 * Where the gateway calls back: the signature is checked on the raw bytes, the callback is stored,
 * then acted upon. What is lost after that, reconciliation finds.
 */
export function callbackRoutes(deps: CaptureDeps): Route[] {
  return [callbackRoute(deps, 'sandbox'), callbackRoute(deps, 'production')];
}

/** One path each, so that any other is an unknown path. */
function callbackRoute(deps: CaptureDeps, environment: Environment): Route {
  return defineRoute({
    method: 'POST',
    base: 'root',
    caller: 'public',
    path: `/callbacks/razorpay/${environment}`,
    operationId: `razorpayCallback ${environment}`,
    summary: 'Callbacks of the payment gateway',
    description: 'Signed with `X-Razorpay-Signature`; called by the gateway alone.',
    tags: ['Gateway'],
    headers: z.object({
      'X-Razorpay-Signature': z.string().optional(),
      'X-Razorpay-Event-Id': z.string().optional(),
    }),
    body: z.looseObject({}),
    responses: { 200: { description: 'Received', schema: envelopeOf(z.null()) } },
    errors: ['UNAUTHORIZED'],
  }).handledBy(async ({ headers, rawBody = Buffer.alloc(0) }) => {
    await receive(deps, environment, rawBody, {
      'x-razorpay-signature': headers['X-Razorpay-Signature'],
      'x-razorpay-event-id': headers['X-Razorpay-Event-Id'],
    });
    return { status: 200, body: success('Received', null) };
  });
}

async function receive(
  deps: CaptureDeps,
  environment: Environment,
  rawBody: Buffer,
  headers: CallbackHeaders,
): Promise<void> {
  // Without a gateway there is no secret, so nothing can be signed with it.
  const result = deps.gateways[environment]?.parseCallback(rawBody, headers);
  const body = rawBody.toString('utf8');
  if (result?.verified) {
    const { event } = result;
    const { eventId, name } = event;
    await writeCallback(deps.sql, { environment, eventId, event: name, body });
    const acting = act(deps, environment, event).catch((err: unknown) =>
      deps.log.error({ err, event: name }, 'A callback is left to reconciliation'),
    );
    await Promise.race([acting, sleep(ANSWER_WITHIN_MS, undefined, { ref: false })]);
    return;
  }
  if (result?.reason !== 'body_malformed') {
    throw new HttpRefusal('UNAUTHORIZED', CHALLENGE, 'Invalid signature');
  }
  // Truly from the gateway, but in no form that we know. Refused, it would come again for a day.
  const eventId = String(headers['x-razorpay-event-id'] ?? '');
  await writeCallback(deps.sql, { environment, eventId, event: 'not_understood', body });
  await raiseAlert(deps, {
    kind: 'callback_not_understood',
    subject: environment,
    message: 'A signed callback is in no known form: it is in gateway_callbacks',
    fields: { environment, eventId },
  });
}

async function act(
  deps: CaptureDeps,
  environment: Environment,
  event: GatewayEvent,
): Promise<void> {
  if (event.type === 'session_closed') {
    return noteSessionClosed(deps, environment, event.session.gatewaySessionId);
  }
  if (event.type === 'ignored') return;
  if ('gatewaySessionId' in event) {
    return notePayment(deps, environment, event.payment, event.gatewaySessionId);
  }
  const { payment } = event;
  const note = noteOf(deps, environment, event);
  if ((await note()) !== 'unknown_payment' || payment === null) return;
  // It is the first that we hear of this payment: an order that has none cannot have taken it.
  await notePayment(deps, environment, payment, null);
  await note();
}

type ReversalEvent = Extract<GatewayEvent, { refund: object } | { chargeback: object }>;

function noteOf(deps: CaptureDeps, environment: Environment, event: ReversalEvent) {
  return event.type === 'chargeback'
    ? () => noteChargeback(deps, environment, event.chargeback)
    : () => noteRefund(deps, environment, event.refund);
}
