import { randomUUID } from 'node:crypto';
import type { Checks, GatewayCheck, OnCheck } from './checks.ts';
import { createChecks } from './checks.ts';
import type { PaymentGateway } from './gateway.ts';

export const AMOUNT_PAISE = 500;
/** Longer than the shortest session of every gateway. */
export const SESSION_MS = 16 * 60_000;

/**
 * Checks that a gateway has everything that the service needs, without moving money: it opens a payment session
 * without a buyer, and closes it again. Checks that depend on a failed one are left out.
 *
 * @param linkedAccountId a merchant's account; without it, that check is left out
 */
export async function checkGateway(
  gateway: PaymentGateway,
  linkedAccountId: string | undefined,
  onCheck: OnCheck = () => undefined,
): Promise<GatewayCheck[]> {
  const checks = createChecks(onCheck);
  const chargebacks = await checks.ask({
    what: 'keys, and the list of chargebacks',
    remedy:
      'Check the base address, KEY_ID and KEY_SECRET of the settings, and that the gateway is reachable from here.',
    ask: () => gateway.listNewestChargebacks(),
    textOf: ({ length }) => `${length} chargebacks`,
  });
  if (chargebacks) {
    await checkSessions(checks, gateway);
    if (linkedAccountId !== undefined) await checkAccount(checks, gateway, linkedAccountId);
  }
  return checks.checks;
}

async function checkSessions({ ask }: Checks, gateway: PaymentGateway): Promise<void> {
  await ask({
    what: 'the list of payment sessions',
    remedy: 'Ask the gateway to enable payments by QR code.',
    ask: () => gateway.listSessions(Date.now() - SESSION_MS),
    textOf: ({ length }) => `${length} sessions within 16 minutes`,
  });
  const opened = await ask({
    what: 'a payment session with its UPI link',
    remedy: 'Ask the gateway to enable QR codes, and image_content for QR codes.',
    ask: () =>
      gateway.openSession({
        orderNumber: 'GATEWAY-CHECK',
        sessionId: `check_${randomUUID()}`,
        amountPaise: AMOUNT_PAISE,
        expiresAtMs: Date.now() + SESSION_MS,
        description: 'A check of the payment gateway: not to be paid',
      }),
    textOf: ({ gatewaySessionId }) => gatewaySessionId,
  });
  if (!opened) return;
  const { gatewaySessionId } = opened;
  await ask({
    what: 'the end of that session, unpaid',
    remedy: `Close ${gatewaySessionId} in the dashboard of the gateway; a merchant's cancel would answer 502.`,
    ask: () => gateway.closeSession(gatewaySessionId),
    textOf: ({ length }) => `closed, ${length} payments`,
  });
}

async function checkAccount(
  { ask, fail }: Checks,
  gateway: PaymentGateway,
  linkedAccountId: string,
): Promise<void> {
  const what = `the linked account ${linkedAccountId}`;
  const found = await ask({
    what,
    remedy:
      'Copy the id from the dashboard of the gateway, and ask the gateway to enable transfers to linked accounts.',
    ask: () => gateway.fetchLinkedAccount(linkedAccountId),
    textOf: ({ state }) => state,
  });
  if (!found) return;
  const { state, transfersFromMs } = found;
  if (state === 'waiting' || state === 'suspended') {
    const remedy =
      'Complete the verification of the account in the dashboard of the gateway: until then it receives no transfers.';
    fail(`${what}: transfers`, state, remedy);
  } else if (transfersFromMs > Date.now()) {
    const remedy = 'Wait: the gateway makes no transfers to a new account.';
    fail(`${what}: transfers`, `from ${new Date(transfersFromMs).toISOString()}`, remedy);
  }
}
