import { randomUUID } from 'node:crypto';
import type { Checks, GatewayCheck, OnCheck, Question } from './check-gateway.ts';
import {
  AMOUNT_PAISE,
  CheckFailed,
  checkGateway,
  createChecks,
  repeated,
  SESSION_MS,
} from './check-gateway.ts';
import type {
  GatewayPayment,
  GatewayTransfer,
  OpenedSession,
  TransferredFunds,
} from './gateway-objects.ts';
import { isCaptured } from './gateway-objects.ts';
import type { PaymentGateway, TransferInput } from './gateway.ts';
import { moneyKey, PILOT_ORDER_NUMBER } from './gateway.ts';

/** The times of a pilot whose options name no others. */
const TIMES = {
  intervalMs: 2000,
  /** How long the payment may take. It must be less than the session is open. */
  paymentWithinMs: 15 * 60_000,
  transferWithinMs: 5 * 60_000,
  /** How long the pilot waits for the refund. A refund that is still pending then is not a failure. */
  refundWithinMs: 60_000,
};

export interface PilotOptions extends Partial<typeof TIMES> {
  linkedAccountId: string;
  /** Receives the session that is to be paid. The pilot continues when it has returned. */
  onOpened: (session: OpenedSession) => void | Promise<void>;
  onCheck?: OnCheck;
}

interface Pilot extends Required<PilotOptions> {
  gateway: PaymentGateway;
  checks: Checks;
}

/**
 * Makes the checks of `checkGateway`; then opens a session of INR 5, waits until it is paid, and holds, releases and
 * refunds the payment. It stops at the first failure, whose remedy says where the money is.
 *
 * @returns the checks, one for each step
 */
export async function runPilot(
  gateway: PaymentGateway,
  options: PilotOptions,
): Promise<GatewayCheck[]> {
  const { linkedAccountId, onCheck = () => undefined } = options;
  const checked = await checkGateway(gateway, linkedAccountId, onCheck);
  if (checked.some(({ isOk }) => !isOk)) return checked;
  const checks = createChecks(onCheck);
  await followPayment({ ...TIMES, ...options, gateway, checks, onCheck });
  return [...checked, ...checks.checks];
}

async function followPayment(pilot: Pilot): Promise<void> {
  const { checks } = pilot;
  if (!(await checks.ask(shortestSession(pilot)))) return;
  const opened = await checks.ask(sessionToPay(pilot));
  if (!opened) return;
  await pilot.onOpened(opened);
  const payment = await checks.ask(paymentOn(pilot, opened));
  if (!payment) return;
  const steps = [
    // A payment that names its order is found without its session.
    ...(payment.orderNumber === null ? [sessionOfPayment(pilot, opened, payment)] : []),
    ...transferSteps(pilot, payment),
    ...refundSteps(pilot, payment),
  ];
  for (const step of steps) {
    const found = await checks.ask({ ...step, textOf: (text) => text });
    if (found === undefined) return;
  }
}

const openSession = ({ gateway }: Pilot, expiresAtMs: number, description: string) =>
  gateway.openSession({
    orderNumber: PILOT_ORDER_NUMBER,
    sessionId: `pilot_${randomUUID()}`,
    amountPaise: AMOUNT_PAISE,
    expiresAtMs,
    description,
  });

/** Adapters use the gateway's shortest time if a session is to end earlier. */
const shortestSession = (pilot: Pilot) => ({
  what: 'the shortest payment session',
  remedy: 'Ask the gateway for the least time of a payment session.',
  async ask() {
    const description = 'A check of the payment gateway: not to be paid';
    const { gatewaySessionId } = await openSession(pilot, Date.now(), description);
    await pilot.gateway.closeSession(gatewaySessionId);
    return gatewaySessionId;
  },
  textOf: (gatewaySessionId: string) => `${gatewaySessionId}, closed again`,
});

const sessionToPay = (pilot: Pilot) => ({
  what: 'a payment session of INR 5',
  remedy: 'Run the command again.',
  ask: () => openSession(pilot, Date.now() + SESSION_MS, 'A pilot of the payment gateway'),
  textOf: ({ gatewaySessionId }: OpenedSession) => gatewaySessionId,
});

/** At the end of the time the session is closed. A payment of the last moment counts. */
const paymentOn = (
  { gateway, intervalMs, paymentWithinMs }: Pilot,
  { gatewaySessionId }: OpenedSession,
) => ({
  what: 'its payment',
  remedy: `Run the command again, and pay within ${paymentWithinMs / 60_000} minutes. If ${gatewaySessionId} was paid all the same, refund its payment in the dashboard of the gateway.`,
  async ask() {
    const isPaid = (payments: GatewayPayment[]) => payments.some(isCaptured);
    const list = () => gateway.listSessionPayments(gatewaySessionId);
    const listed = await repeated(list, isPaid, paymentWithinMs, intervalMs);
    const payments = isPaid(listed) ? listed : await gateway.closeSession(gatewaySessionId);
    const paid = payments.find(isCaptured);
    if (paid) return paid;
    const others = payments.map((payment) => `${payment.gatewayPaymentId} is ${payment.status}`);
    throw new CheckFailed(['no payment was captured, the session is closed', ...others].join('; '));
  },
  textOf: ({ gatewayPaymentId, orderNumber }: GatewayPayment) =>
    `${gatewayPaymentId}, names ${orderNumber === null ? 'no' : 'its'} order`,
});

/** A step after the payment. It returns what was found. */
type Step = Omit<Question<string>, 'textOf'>;

const refundBy = (gatewayPaymentId: string) =>
  `refund ${gatewayPaymentId} in the dashboard of the gateway`;

const sessionOfPayment = (
  { gateway }: Pilot,
  { gatewaySessionId }: OpenedSession,
  { gatewayPaymentId }: GatewayPayment,
): Step => ({
  what: 'the session of that payment',
  remedy: `The gateway names neither order nor session of a payment: the service cannot use it. The INR 5 are in the platform's balance: ${refundBy(gatewayPaymentId)}.`,
  async ask() {
    const session = await gateway.fetchSessionOfPayment(gatewayPaymentId);
    if (session?.gatewaySessionId === gatewaySessionId) return gatewaySessionId;
    throw new CheckFailed(session?.gatewaySessionId ?? 'none');
  },
});

/** Moves the funds until they are in this state. @returns the states that were found */
async function move(
  { transferWithinMs, intervalMs }: Pilot,
  call: () => Promise<GatewayTransfer>,
  wanted: GatewayTransfer['state'],
): Promise<string> {
  const isDone = ({ state }: GatewayTransfer) => state === wanted;
  const first = await repeated(call, () => true, transferWithinMs, intervalMs);
  if (isDone(first)) return wanted;
  const last = await repeated(call, isDone, transferWithinMs, intervalMs);
  if (!isDone(last)) throw new CheckFailed(last.state);
  return `${first.state}, then ${wanted}`;
}

/** Reads where the funds are until this part is held and the rest is released. @returns what was found */
async function readTransferred(
  { gateway, transferWithinMs, intervalMs }: Pilot,
  gatewayPaymentId: string,
  heldPaise: number,
): Promise<string> {
  const read = () => gateway.fetchTransferred(gatewayPaymentId);
  const isWanted = (transferred: TransferredFunds) =>
    transferred.heldPaise === heldPaise && transferred.releasedPaise === AMOUNT_PAISE - heldPaise;
  const funds = await repeated(read, isWanted, transferWithinMs, intervalMs);
  const fee = funds.feePaise === null ? 'not reported' : `${funds.feePaise} paise`;
  const found = `${funds.heldPaise} paise held, ${funds.releasedPaise} paise released, fee ${fee}`;
  if (!isWanted(funds)) throw new CheckFailed(found);
  return found;
}

function transferSteps(pilot: Pilot, { gatewayPaymentId }: GatewayPayment): Step[] {
  const { gateway, linkedAccountId: account } = pilot;
  const input: TransferInput = {
    gatewayPaymentId,
    amountPaise: AMOUNT_PAISE,
    linkedAccountId: account,
    idempotencyKey: moneyKey(gatewayPaymentId, 'transfer'),
    knownFailures: 0,
    beforeMoving: async () => undefined,
  };
  const refund = `${refundBy(gatewayPaymentId)}, and reverse its transfer`;
  return [
    {
      what: `the hold for ${account}`,
      remedy: `Check that the platform's balance covers the fees, and that the account receives transfers. The INR 5 are in the platform's balance, or on hold for ${account} if the dashboard of the gateway shows a transfer: ${refund} if there is one.`,
      ask: () => move(pilot, () => gateway.holdFunds(input), 'held'),
    },
    {
      what: 'the funds on hold',
      remedy: `The INR 5 were transferred to ${account}: ${refund}.`,
      ask: () => readTransferred(pilot, gatewayPaymentId, AMOUNT_PAISE),
    },
    {
      what: 'the release',
      remedy: `The INR 5 are on hold for ${account}: ${refund}.`,
      ask: () => move(pilot, () => gateway.releaseFunds(input), 'released'),
    },
    {
      what: 'the funds released',
      remedy: `The INR 5 were released to ${account}: ${refund}.`,
      ask: () => readTransferred(pilot, gatewayPaymentId, 0),
    },
  ];
}

function refundSteps(pilot: Pilot, { gatewayPaymentId }: GatewayPayment): Step[] {
  const { gateway, linkedAccountId, refundWithinMs, intervalMs } = pilot;
  const input = {
    gatewayPaymentId,
    amountPaise: AMOUNT_PAISE,
    idempotencyKey: moneyKey(gatewayPaymentId, 'refund'),
    mayBeTransferred: true,
    beforeMoving: async () => undefined,
    reason: 'A pilot of the payment gateway',
  };
  return [
    {
      what: 'the refund',
      remedy: `The INR 5 are released to ${linkedAccountId}, unless the dashboard of the gateway shows a refund: ${refundBy(gatewayPaymentId)}, and reverse its transfer.`,
      async ask() {
        const make = () => gateway.refund(input);
        const isDone = ({ state }: { state: string }) => state === 'processed';
        const { state, reversalId } = await repeated(make, isDone, refundWithinMs, intervalMs);
        return `${reversalId}, ${isDone({ state }) ? state : `${state}: it may take days`}`;
      },
    },
    {
      what: 'the list of refunds',
      remedy: `Look for the refund of ${gatewayPaymentId} in the dashboard of the gateway. Without one, the INR 5 are released to ${linkedAccountId}: ${refundBy(gatewayPaymentId)}.`,
      async ask() {
        const list = () => gateway.listRefunds(gatewayPaymentId);
        const isComplete = ({ length }: unknown[]) => length === 1;
        const refunds = await repeated(list, isComplete, refundWithinMs, intervalMs);
        const found = `${refunds.length} refunds`;
        if (!isComplete(refunds)) throw new CheckFailed(found);
        return found;
      },
    },
  ];
}
