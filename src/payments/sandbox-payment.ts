import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from 'undici';
import type { Sql } from '../db/client.ts';
import { DomainError, REFUSALS } from '../domain/index.ts';
import { errorOf } from '../http/errors.ts';
import type { OrderRow } from '../orders/public.ts';
import { noteCapture } from './captures.ts';
import { gatewayOf } from './gateways.ts';
import * as queries from './queries.ts';
import type { SessionDeps } from './sessions.ts';
import { openSession } from './sessions.ts';

export interface SandboxPaymentDeps extends SessionDeps {
  /** Where the gateway simulator listens, and its key: the sandbox's own settings. */
  simulator: {
    baseUrl?: string | undefined;
    keyId?: string | undefined;
    keySecret?: string | undefined;
  };
}

/**
 * Pays a sandbox order as its buyer would, at the gateway simulator, so that what was paid can be
 * refunded there.
 *
 * @throws DomainError `INVALID_STATE`, `GATEWAY_UNAVAILABLE`
 */
export function createSandboxPayment(deps: SandboxPaymentDeps) {
  async function payNow(order: OrderRow, requestId: string): Promise<{ gatewayPaymentId: string }> {
    if (order.status !== 'ACCEPTED') throw new DomainError('INVALID_STATE', REFUSALS.pay);
    const { session } = await openSession(deps, order);
    // The simulator's callback may be faster than this request: its PAID step answers us too.
    await queries.expectHelperPayment(deps.sql, session.sessionId, requestId);
    const gatewaySessionId = session.gatewaySessionId ?? '';
    await payAtSimulator(deps.simulator, gatewaySessionId);
    const payments = await gatewayOf(deps.gateways, 'sandbox').listSessionPayments(
      gatewaySessionId,
    );
    const captured = payments.find(({ status }) => status === 'captured');
    if (!captured) throw errorOf('GATEWAY_UNAVAILABLE');
    await noteCapture(deps, order, session.sessionId, captured);
    return { gatewayPaymentId: captured.gatewayPaymentId };
  }

  return async function pay(
    order: OrderRow,
    requestId: string,
  ): Promise<{ gatewayPaymentId: string }> {
    try {
      return await payNow(order, requestId);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // An equal request pays, or has paid: its capture answers both.
      const gatewayPaymentId = await captureOfEqualRequest(deps.sql, order, requestId);
      if (gatewayPaymentId === undefined) throw error;
      return { gatewayPaymentId };
    }
  };
}

function isRefusal(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'INVALID_STATE';
}

const SIMULATOR_TIMEOUT_MS = 3000;
const CAPTURE_POLL_MS = 100;
const CAPTURE_POLLS = 30;

async function captureOfEqualRequest(
  sql: Sql,
  order: OrderRow,
  requestId: string,
): Promise<string | undefined> {
  for (let polls = 0; polls < CAPTURE_POLLS; polls += 1) {
    const found = await queries.findHelperPayment(sql, order.orderNumber, requestId);
    if (found?.gatewayPaymentId !== null) return found?.gatewayPaymentId;
    await sleep(CAPTURE_POLL_MS);
  }
  return undefined;
}

async function payAtSimulator(
  { baseUrl, keyId, keySecret }: SandboxPaymentDeps['simulator'],
  gatewaySessionId: string,
): Promise<void> {
  const path = `/simulator/qr_codes/${encodeURIComponent(gatewaySessionId)}/pay`;
  const url = new URL(path, baseUrl);
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString('base64')}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const body = JSON.stringify({ vpa: 'success@razorpay' });
  const signal = AbortSignal.timeout(SIMULATOR_TIMEOUT_MS);
  try {
    const response = await fetch(url, { method: 'POST', headers, body, signal });
    await response.body?.cancel();
    if (response.ok) return;
    // The simulator is well: the session is paid or closed by now.
    if (response.status < 500) throw new DomainError('INVALID_STATE', REFUSALS.pay);
  } catch (error) {
    if (error instanceof DomainError) throw error;
    // Refused or too slow: the same to the caller.
  }
  throw errorOf('GATEWAY_UNAVAILABLE');
}
