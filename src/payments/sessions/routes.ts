import { z } from 'zod';
import { DomainError } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import { defineRoute } from '../../http/define-route.ts';
import { envelopeOf, success } from '../../http/responses/response.ts';
import { errorOf, HttpRefusal } from '../../http/responses/errors.ts';
import { keyHeaders, replayHeaders, replayHeadersOf } from '../../http/input/idempotency-key.ts';
import type { OrderRow } from '../../orders/public.ts';
import { authorizeOrder, orderErrors } from '../../orders/public.ts';
import type { SessionRow } from './session-queries.ts';
import { findSessionOfKey, recordSessionOfKey } from './session-queries.ts';
import type { LimiterByEnvironment } from '../../http/limits/slots.ts';
import type { SessionDeps } from './sessions.ts';
import { isOpen, refreshSession, openSession } from './sessions.ts';

const sessionSchema = z
  .object({
    session_id: z.string(),
    status: z.enum(['open', 'paid', 'closed']),
    upi_intent: z.string().meta({ description: 'For a QR code, or a button in a phone browser' }),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'PaymentSession' });

const sessionRoute = { base: 'merchant', tags: ['Payment sessions'] } as const;

interface SessionRouteDeps extends SessionDeps {
  gatewaySlots: LimiterByEnvironment;
}

/** The routes of payment sessions: a buyer's tries to pay, opened at the UPI gateway. */
export function paymentSessionRoutes(deps: SessionRouteDeps): Route[] {
  return [openSessionRoute(deps), getSessionRoute(deps)];
}

function openSessionRoute(deps: SessionRouteDeps): Route {
  return defineRoute({
    ...sessionRoute,
    slots: deps.gatewaySlots,
    method: 'POST',
    path: '/orders/{id}/payment-sessions',
    operationId: 'openPaymentSession',
    summary: 'Open a payment session',
    description:
      'Answers the open one again if there is one. At most 20 for an order. A repeat with the same ' +
      'Idempotency-Key answers the same session as it is now: 408 when it has expired. 400 while a payment of the ' +
      'order is being confirmed or looked at, as the message then says.',
    params: z.object({ id: z.string() }),
    headers: keyHeaders,
    responses: {
      200: {
        description: 'The session that is open already, or that this key was answered with before',
        schema: envelopeOf(sessionSchema),
        headers: replayHeaders,
      },
      201: { description: 'A new session', schema: envelopeOf(sessionSchema) },
    },
    errors: [
      ...orderErrors,
      'INVALID_STATE',
      'PAYMENT_SESSION_EXPIRED',
      'GATEWAY_UNAVAILABLE',
      'PAYMENTS_NOT_AVAILABLE',
    ],
  }).handledBy(async ({ params, headers, merchant, environment }) => {
    const order = await authorizeOrder(deps.sql, merchant.id, environment, params.id);
    const { session, isNew, replayed } = await openOnce(deps, order, headers['Idempotency-Key']);
    const replay = replayHeadersOf({ replayed, mismatch: false });
    if (session.isExpired) throw new HttpRefusal('PAYMENT_SESSION_EXPIRED', replay);
    const body = success('Payment session', presentSession(session));
    return isNew ? { status: 201, body } : { status: 200, body, headers: replay };
  });
}

/** A repeat with the same key opens no session. It shows the first one in its present state. */
async function openOnce(
  deps: SessionDeps,
  order: OrderRow,
  key: string | undefined,
): Promise<{ session: SessionRow; isNew: boolean; replayed: boolean }> {
  if (key === undefined) return { ...(await openSession(deps, order)), replayed: false };
  const { orderNumber } = order;
  const earlier = await findSessionOfKey(deps.sql, orderNumber, key);
  if (earlier) {
    const session = await refreshSession(deps, orderNumber, earlier.sessionId);
    return { session: session ?? earlier, isNew: false, replayed: true };
  }
  const { session, isNew } = await openSession(deps, order);
  const isFirst = await recordSessionOfKey(deps.sql, orderNumber, key, session.sessionId);
  if (isFirst) return { session, isNew, replayed: false };
  const first = await findSessionOfKey(deps.sql, orderNumber, key);
  return { session: first ?? session, isNew: false, replayed: true };
}

function getSessionRoute(deps: SessionRouteDeps): Route {
  return defineRoute({
    ...sessionRoute,
    slots: deps.gatewaySlots,
    method: 'GET',
    path: '/orders/{id}/payment-sessions/{session}',
    operationId: 'getPaymentSession',
    summary: 'Get a payment session',
    description: '408 once it has expired.',
    params: z.object({ id: z.string(), session: z.string() }),
    responses: { 200: { description: 'The session', schema: envelopeOf(sessionSchema) } },
    errors: [...orderErrors, 'NOT_FOUND', 'PAYMENT_SESSION_EXPIRED'],
  }).handledBy(async ({ params, merchant, environment }) => {
    const order = await authorizeOrder(deps.sql, merchant.id, environment, params.id);
    const session = await refreshSession(deps, order.orderNumber, params.session);
    if (!session) throw new DomainError('NOT_FOUND', 'Payment session not found');
    if (session.isExpired) throw errorOf('PAYMENT_SESSION_EXPIRED');
    return { status: 200, body: success('Payment session', presentSession(session)) };
  });
}

function presentSession(session: SessionRow): z.input<typeof sessionSchema> {
  const ended = session.state === 'PAID' ? 'paid' : 'closed';
  return {
    session_id: session.sessionId,
    status: isOpen(session) ? 'open' : ended,
    upi_intent: session.upiIntent ?? '',
    expires_at: session.expiresAt.toISOString(),
  };
}
