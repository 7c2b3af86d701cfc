import { randomUUID } from 'node:crypto';
import { askSimulator } from '../../dev/load/simulator.ts';
import type { PaymentRef } from '../../src/contracts/ids.ts';
import { RECONCILE_WORKFLOW, SWEEP_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import type { Environment, OrderStatus } from '../../src/domain/index.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { writeCapture } from '../../src/payments/captures/capture-queries.ts';
import type { OrderRef } from './api-client.ts';
import { withKey } from './api-client.ts';
import type { Merchant } from './merchant.ts';
import { repeated } from './repeated.ts';
import type { TestService } from './service.ts';
import { UNTIL_MS } from './time-limits.ts';

type Paid = Pick<OrderRow, 'orderNumber' | 'amountPaise'>;

/** A gateway of the service: the sandbox's, unless another environment is named. */
interface ConfiguredGateway extends Pick<TestService, 'config'> {
  environment?: Environment;
}

/** The gateway of test merchants, unless a test chooses another. */
export const SANDBOX = { gateway: 'razorpay', environment: 'sandbox' } as const;

/** A payment at that gateway. */
export const atRazorpay = (gatewayPaymentId: string): PaymentRef => ({
  gateway: SANDBOX.gateway,
  gatewayPaymentId,
});

type Call = [method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object];

/** Calls the gateway without the adapter: Razorpay's API, or a control route of the simulator. */
export const askGateway = <Answer>(
  { config, environment = 'sandbox' }: ConfiguredGateway,
  ...[method, path, body]: Call
) => askSimulator<Answer>(config.gateways[environment].razorpay!, method, path, body, UNTIL_MS);

/** Calls a control route of the simulator: see `dev/gateway-simulator/control/routes.ts`. */
export const simulator = <Answer = unknown>(
  gateway: ConfiguredGateway,
  ...[method, path, body]: Call
) => askGateway<Answer>(gateway, method, `/simulator${path}`, body);

/** Sets switches of the simulator for a payment, an account, a QR code or `all`; null removes one. */
export const setSwitches = (gateway: ConfiguredGateway, subject: string, switches: object) =>
  simulator(gateway, 'PATCH', `/switches/${subject}`, switches);

interface Made {
  id: string;
  amount: number;
  status: string;
  on_hold?: boolean;
}

/** The refunds or transfers that the gateway has made from a payment, newest first. */
export async function madeAtGateway(
  service: TestService,
  gatewayPaymentId: string,
  what: 'refunds' | 'transfers',
): Promise<Made[]> {
  // The list of transfers has no pages.
  const query = what === 'refunds' ? '?count=100' : '';
  const path = `/v1/payments/${gatewayPaymentId}/${what}${query}`;
  const { items } = await askGateway<{ items: Made[] }>(service, 'GET', path);
  return items;
}

/** The buyer pays, or tries to. Returns the gateway's payment id. */
export async function payAtGateway(
  service: TestService,
  gatewaySessionId: string,
  attempt: { vpa?: string; amountPaise?: number; late?: boolean } = {},
  environment: Environment = 'sandbox',
): Promise<string> {
  const path = `/qr_codes/${gatewaySessionId}/pay`;
  const gateway = { config: service.config, environment };
  return (await simulator<{ id: string }>(gateway, 'POST', path, attempt)).id;
}

/** Opens a payment session of an order. */
async function openSession(
  service: TestService,
  merchant: Merchant,
  order: OrderRef,
  environment: Environment = 'sandbox',
) {
  const api = merchant[environment];
  const key = withKey(randomUUID());
  await repeated(() => api.openSession(order, key));
  const { sessionId, gatewaySessionId } = await sessionOf(service, order);
  return {
    sessionId,
    gatewaySessionId,
    /** The buyer pays at the gateway, or tries to. Returns the gateway's payment id. */
    pay: (attempt: Parameters<typeof payAtGateway>[2] = {}) =>
      payAtGateway(service, gatewaySessionId, attempt, environment),
    /** The gateway's status of the session's QR code. */
    async atGateway() {
      const path = `/v1/payments/qr_codes/${gatewaySessionId}`;
      const gateway = { config: service.config, environment };
      return (await askGateway<{ status: string }>(gateway, 'GET', path)).status;
    },
    /** The HTTP status and the status of the session, as the merchant gets them. */
    async readSession() {
      const { status, body } = await api.session(order, sessionId);
      return [status, body.data?.status];
    },
  };
}

/** An order with an open payment session, and the next actions of buyer and merchant. */
export async function orderBeingPaid(
  service: TestService,
  merchant: Merchant,
  environment: Environment = 'sandbox',
) {
  const api = merchant[environment];
  const order = await api.create();
  return {
    order,
    order_number: order.order_number,
    ...(await openSession(service, merchant, order, environment)),
    /** Opens another session after the first one has expired. */
    openNext: () => openSession(service, merchant, order, environment),
    cancel: (headers?: Record<string, string>) => api.command(order, 'cancel', undefined, headers),
    /** Advances the order's clock with the sandbox helper. */
    advance: (seconds: number) => api.help(order, 'advance', { seconds }),
    read: () => api.read(order),
    timeline: () => api.timeline(order),
    untilStatus: (status: OrderStatus) => api.untilStatus(order, status),
  };
}
export type OrderBeingPaid = Awaited<ReturnType<typeof orderBeingPaid>>;

/** Stops callbacks: from now on only the test reports payments to the order. */
export const withoutCallbacks = (service: TestService) =>
  simulator(service, 'PATCH', '/callbacks', { dropProbability: 1 });

/** Callbacks arrive normally again, once and without delay. */
export const withCallbacks = (service: TestService) =>
  simulator(service, 'PATCH', '/callbacks', { dropProbability: 0, duplicateProbability: 0 });

/** The path of each call that closes a payment session. */
export const CLOSING = '/v1/payments/qr_codes/*/close';

/** A fault and the calls that it affects: see `dev/gateway-simulator/control/routes.ts`. */
interface GatewayFault {
  kind: 'reset' | 'error' | 'late' | 'held' | 'drop_answer';
  [option: string]: unknown;
}

/** The gateway faults of one test. */
export function gatewayOf(service: TestService) {
  let isBroken = false;
  return {
    /** Starts a fault that lasts until the test ends; returns a function that ends it earlier. */
    addFault(fault: GatewayFault) {
      isBroken = true;
      return breakGateway(service, fault);
    },
    /** Ends all faults. */
    async endFaults(): Promise<void> {
      if (isBroken) await simulator(service, 'DELETE', '/faults');
      isBroken = false;
    },
  };
}
export type Gateway = ReturnType<typeof gatewayOf>;

/** Starts a fault at the gateway; returns how to end it. */
export async function breakGateway(service: TestService, fault: GatewayFault) {
  const { id } = await simulator<{ id: string }>(service, 'POST', '/faults', fault);
  return {
    endFault: () => simulator(service, 'DELETE', `/faults/${id}`),
    /** How many calls the fault has affected. */
    async hits(): Promise<number> {
      const { faults } = await simulator<{ faults: { id: string; hits: number }[] }>(
        service,
        'GET',
        '/faults',
      );
      return faults.find((one) => one.id === id)?.hits ?? 0;
    },
  };
}

/** The alerts of this kind that the service has logged about a payment or an order. */
export const alerts = ({ logged }: TestService, alert: string, about: string) =>
  logged.filter(
    (line) =>
      line.alert === alert &&
      [line.gatewayPaymentId, line.orderNumber, line.subject].includes(about),
  );

/** An order's newest payment session in the database. */
export async function sessionOf(
  { sql }: TestService,
  { order_number }: { order_number: string },
): Promise<{ sessionId: string; gatewaySessionId: string; state: string }> {
  const [row] = await sql<{ sessionId: string; gatewaySessionId: string; state: string }[]>`
    SELECT session_id, gateway_session_id, state FROM payment_sessions
    WHERE order_number = ${order_number} ORDER BY session_id DESC LIMIT 1`;
  if (!row) throw new Error(`Order ${order_number} has no session`);
  return row;
}

/** A payment of this order, captured in full, as the gateway's API returns it. */
export const capturedWhole = (gatewayPaymentId: string, { orderNumber, amountPaise }: Paid) => ({
  gatewayPaymentId,
  orderNumber,
  sessionId: null,
  amountPaise,
  status: 'captured' as const,
  currency: 'INR',
  refundedPaise: 0,
  failure: null,
  utr: null,
  feePaise: null,
});

/** A buyer pays at the gateway, and the process that records the capture dies before it notifies the order. */
export async function captureAtGateway(service: TestService, order: Paid): Promise<string> {
  const { orderNumber, amountPaise } = order;
  const gateway = service.deps.gateways.forOrder(SANDBOX);
  const { gatewaySessionId } = await gateway.openSession({
    orderNumber,
    sessionId: `ps_${randomUUID()}`,
    amountPaise,
    expiresAtMs: Date.now() + 900_000,
    description: `Order ${orderNumber}`,
  });
  const gatewayPaymentId = await payAtGateway(service, gatewaySessionId);
  await writeCapture(service.sql, { at: SANDBOX, payment: capturedWhole(gatewayPaymentId, order) });
  return gatewayPaymentId;
}

/** Refunds a payment, or a part of it, as an operator does in the gateway's dashboard. */
export async function refundInDashboard(
  service: TestService,
  gatewayPaymentId: string,
  amountPaise?: number,
): Promise<void> {
  await simulator(service, 'POST', `/payments/${gatewayPaymentId}/refund`, { amountPaise });
  await simulator(service, 'POST', '/callbacks/idle');
}

/** The buyer's bank opens a chargeback of a payment. Returns how its status changes at the gateway. */
export async function openChargeback(service: TestService, gatewayPaymentId: string) {
  const path = `/payments/${gatewayPaymentId}/disputes`;
  const { id } = await simulator<{ id: string }>(service, 'POST', path);
  await simulator(service, 'POST', '/callbacks/idle');
  return async (status: 'under_review' | 'won' | 'lost'): Promise<void> => {
    await simulator(service, 'POST', `/disputes/${id}/status`, { status });
    await simulator(service, 'POST', '/callbacks/idle');
  };
}

/** Runs reconciliation, as its Schedule does every minute. */
export const reconcile = ({ temporal }: TestService) =>
  temporal.client.workflow.execute<() => Promise<{ sessions: number; captures: number }>>(
    RECONCILE_WORKFLOW,
    { workflowId: `reconcile-${randomUUID()}`, taskQueue: TASK_QUEUE },
  );

/** Runs the sweep, as its Schedule does. */
export const sweep = ({ temporal }: TestService) =>
  temporal.client.workflow.execute<() => Promise<{ woken: number; mails: number }>>(
    SWEEP_WORKFLOW,
    {
      workflowId: `sweep-${randomUUID()}`,
      taskQueue: TASK_QUEUE,
    },
  );

/**
 * Moves the database's clock forward by two minutes and runs reconciliation, which asks the gateway
 * about a session after two minutes without news. 121 s, one second more, so that the session is due.
 */
export async function reconcileLater(service: TestService) {
  await service.clock.advance(121_000);
  return reconcile(service);
}

/** An order's ledger: each line, and the balance of each account. */
export async function ledgerOf({ sql }: TestService, orderNumber: string) {
  const lines = await sql<{ line: string; amountPaise: number }[]>`
    SELECT operation || ': ' || debit_account || ' → ' || credit_account AS line, amount_paise
    FROM ledger_transfers WHERE order_number = ${orderNumber} ORDER BY transfer_id`;
  const balances = await sql<{ account: string; paise: number }[]>`
    SELECT account, sum(paise)::bigint AS paise FROM (
      SELECT debit_account AS account, -amount_paise AS paise
      FROM ledger_transfers WHERE order_number = ${orderNumber}
      UNION ALL
      SELECT credit_account, amount_paise
      FROM ledger_transfers WHERE order_number = ${orderNumber}
    ) entries GROUP BY account HAVING sum(paise) <> 0`;
  return {
    lines: lines.map(({ line, amountPaise }) => `${line} ${amountPaise}`),
    balances: Object.fromEntries(balances.map(({ account, paise }) => [account, paise])),
    sum: balances.reduce((sum, { paise }) => sum + paise, 0),
  };
}
