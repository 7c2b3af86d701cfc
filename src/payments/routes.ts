import { z } from 'zod';
import { DomainError } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { envelopeOf, success } from '../http/envelope.ts';
import { errorOf } from '../http/errors.ts';
import { keyHeaders } from '../http/idempotency-key.ts';
import type { OrderRow } from '../orders/queries.ts';
import { ownOrder } from '../orders/queries.ts';
import type { SessionAnswer, SessionRow } from './queries.ts';
import { findSession, findSessionAnswer, keepSessionAnswer } from './queries.ts';
import type { SessionDeps } from './sessions.ts';
import { openSession } from './sessions.ts';

const sessionSchema = z
  .object({
    session_id: z.string(),
    status: z.enum(['open', 'paid', 'closed']),
    upi_intent: z.string().meta({ description: 'For a QR code, or a button in a phone browser' }),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'PaymentSession' });

const sessionRoute = {
  base: 'merchant',
  caller: 'merchant',
  tags: ['Payment sessions'],
} as const;
const orderErrors = ['ORDER_NOT_FOUND', 'ORDER_NOT_YOURS'] as const;

/** A buyer's tries to pay, opened at the UPI gateway. */
export function paymentSessionRoutes(deps: SessionDeps): Route[] {
  return [openSessionRoute(deps), getSessionRoute(deps)];
}

function openSessionRoute(deps: SessionDeps): Route {
  return defineRoute({
    ...sessionRoute,
    method: 'POST',
    path: '/orders/{id}/payment-sessions',
    operationId: 'openPaymentSession',
    summary: 'Open a payment session',
    description: 'Answers the open one again if there is one. At most 20 for an order.',
    params: z.object({ id: z.string() }),
    headers: keyHeaders,
    responses: {
      200: { description: 'The session that is open already', schema: envelopeOf(sessionSchema) },
      201: { description: 'A new session', schema: envelopeOf(sessionSchema) },
    },
    errors: [...orderErrors, 'INVALID_STATE', 'GATEWAY_UNAVAILABLE', 'PAYMENTS_NOT_AVAILABLE'],
  }).handledBy(async ({ params, headers, merchant, environment }) => {
    const order = await ownOrder(deps.sql, merchant.id, environment, params.id);
    const { session, isNew } = await answerOnce(deps, order, headers['Idempotency-Key']);
    const body = success('Payment session', session);
    return isNew ? { status: 201, body } : { status: 200, body };
  });
}

/** A repeat with the same key gets the first answer again, whatever became of the session. */
async function answerOnce(
  deps: SessionDeps,
  order: OrderRow,
  key: string | undefined,
): Promise<SessionAnswer> {
  const { order_number: orderNumber } = order;
  const first = key === undefined ? undefined : await findSessionAnswer(deps.sql, orderNumber, key);
  if (first) return first;
  const { session, isNew } = await openSession(deps, order);
  const answer = { isNew, session: presentSession(session, order) };
  return key === undefined ? answer : keepSessionAnswer(deps.sql, orderNumber, key, answer);
}

function getSessionRoute({ sql }: SessionDeps): Route {
  return defineRoute({
    ...sessionRoute,
    method: 'GET',
    path: '/orders/{id}/payment-sessions/{session}',
    operationId: 'getPaymentSession',
    summary: 'Get a payment session',
    description: '408 when it has expired; the order is still ACCEPTED then.',
    params: z.object({ id: z.string(), session: z.string() }),
    responses: { 200: { description: 'The session', schema: envelopeOf(sessionSchema) } },
    errors: [...orderErrors, 'NOT_FOUND', 'PAYMENT_SESSION_EXPIRED'],
  }).handledBy(async ({ params, merchant, environment }) => {
    const order = await ownOrder(sql, merchant.id, environment, params.id);
    const session = await findSession(sql, order.order_number, params.session);
    if (!session) throw new DomainError('NOT_FOUND', 'Payment session not found');
    if (session.is_expired && session.state !== 'PAID' && order.status === 'ACCEPTED') {
      throw errorOf('PAYMENT_SESSION_EXPIRED');
    }
    return { status: 200, body: success('Payment session', presentSession(session, order)) };
  });
}

/** Over is over, though the gateway may not have been told yet. */
function isOpen({ state, is_expired: isExpired }: SessionRow, { status }: OrderRow): boolean {
  return (state === 'OPEN' || state === 'OPENING') && !isExpired && status === 'ACCEPTED';
}

function presentSession(session: SessionRow, order: OrderRow): SessionAnswer['session'] {
  const ended = session.state === 'PAID' ? 'paid' : 'closed';
  return {
    session_id: session.session_id,
    status: isOpen(session, order) ? 'open' : ended,
    upi_intent: session.upi_intent ?? '',
    expires_at: session.expires_at.toISOString(),
  };
}
