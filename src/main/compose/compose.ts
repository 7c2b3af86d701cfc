import type { ActivityDeps } from '../../../activities/index.ts';
import { createBackgroundWork } from '../../background-work.ts';
import { checkoutRoutes } from '../../checkout/routes.ts';
import { required, type Config } from '../../config.ts';
import { connectDatabase } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import { createApp } from '../../http/app.ts';
import type { LimiterByEnvironment } from '../../http/limits/slots.ts';
import { createPageRateLimiter } from '../../http/limits/rate-limit.ts';
import { createReadiness } from '../../http/server/readiness.ts';
import { PAGE_FILES } from '../../pages/files.ts';
import { securityTxtRoutes } from '../../http/server/security-txt.ts';
import { API_VERSION } from '../../http/versions.ts';
import { statementRoute } from '../../ledger/statement-route.ts';
import { createMailer } from '../../mail/mailer.ts';
import {
  createAuthenticate,
  createKeyUse,
  createRenewHmac,
} from '../../merchants/keys/authenticate.ts';
import { raiseDispute, type SendDeps } from '../../orders/commands/send-command.ts';
import type { OrderRow } from '../../orders/rows.ts';
import { createOrderPresenter } from '../../orders/presenter.ts';
import { orderRoutes } from '../../orders/routes/routes.ts';
import { failAfterWorkRoute } from '../../orders/routes/test-helpers.ts';
import { commandRoute, merchantCommands } from '../../orders/routes/command-routes.ts';
import { callbackRoutes } from '../../payments/captures/callback-route.ts';
import type { GatewayOptions } from '../../payments/gateway/adapter.ts';
import { GATEWAY_ADAPTERS } from '../../payments/gateway/adapters.ts';
import type { Gateways } from '../../payments/gateway/gateways.ts';
import { createGatewaySlots } from '../../payments/gateway/gateway-slots.ts';
import { createGateways } from '../../payments/gateway/gateways.ts';
import { paymentSessionRoutes } from '../../payments/sessions/routes.ts';
import {
  hasGateway,
  openSession,
  refreshSession,
  type SessionDeps,
} from '../../payments/sessions/sessions.ts';
import { createMailWorkflows } from '../../temporal/mail-workflows.ts';
import { createDeliveryRetries } from '../../temporal/delivery-retries.ts';
import { createOrderWorkflows } from '../../temporal/order-workflows.ts';
import { eventRoutes } from '../../webhooks/events/event-routes.ts';
import { createAttemptLog } from '../../webhooks/schedule/attempt-log.ts';
import { createSecretBox } from '../../secret-box.ts';
import { createWebhookSender } from '../../webhooks/sending/sender.ts';
import { composeDashboard } from './compose-dashboard.ts';
import { composeRateLimiter } from './compose-rate-limiter.ts';
import { composeTestHelpers } from './compose-test-helpers.ts';
import { documentationOf } from '../../docs/documentation.ts';
import type { Resources } from './resources.ts';
import { webhookRules } from './webhook-rules.ts';

/** The timeout of a gateway call: short in the API, where a client waits; longer in activities. */
const API_GATEWAY_TIMEOUT_MS = 3000;
const WORKER_GATEWAY_TIMEOUT_MS = 10_000;

/** A proof of the whole ledger reads every order: about 10 s for a million of them. */
const LEDGER_STATEMENT_TIMEOUT_MS = 5 * 60_000;

/** The configured gateways of both environments. */
export function composeGateways(
  resources: Pick<Resources, 'config' | 'sql' | 'log' | 'adapters'>,
  timeoutMs: number,
  onAnswer?: GatewayOptions['onAnswer'],
): Promise<Gateways> {
  const { config, log, adapters = GATEWAY_ADAPTERS } = resources;
  return createGateways(resources, adapters, config.gateways, { timeoutMs, log, onAnswer });
}

/** The environments whose orders send mails. */
const mailedEnvironments = ({ sandboxMails }: Config): Environment[] =>
  sandboxMails === 'on' ? ['production', 'sandbox'] : ['production'];

function buyerPages(
  { publicBaseUrl, supportEmail, buyerRateLimitPerSecond }: Config,
  { sessions, gatewaySlots, orders }: BuyerPageDeps,
) {
  const inSlot = <Value>(order: OrderRow, work: () => Promise<Value>) =>
    gatewaySlots[order.environment].run(order.merchantId, work);
  return checkoutRoutes({
    sql: sessions.sql,
    publicBaseUrl,
    supportEmail,
    rateLimiter: createPageRateLimiter(buyerRateLimitPerSecond),
    hasGateway: (order) => hasGateway(sessions, order),
    openSession: (order) => inSlot(order, () => openSession(sessions, order)),
    refreshSession: (order, sessionId) =>
      inSlot(order, () => refreshSession(sessions, order.orderNumber, sessionId)),
    raiseDispute: (dispute) => raiseDispute(orders, dispute),
  });
}

interface BuyerPageDeps {
  sessions: SessionDeps;
  gatewaySlots: LimiterByEnvironment;
  orders: SendDeps;
}

/** The check of a merchant's keys. */
function composeAuthenticate(deps: Parameters<typeof createRenewHmac>[0]) {
  const recordKeyUse = createKeyUse(deps);
  return createAuthenticate({ ...deps, recordKeyUse, renewHmac: createRenewHmac(deps) });
}

/**
 * Builds the HTTP application with all routes. `background` has work that continues after its answer.
 *
 * @throws ConfigError if API_SECRET_PEPPER or WEBHOOK_SECRET_KEYS is missing
 */
export async function composeApi(resources: Resources) {
  const { config, sql, temporal, log, responseTimeoutMs, adapters = GATEWAY_ADAPTERS } = resources;
  const { callbackTimeoutMs, gatewayTimeoutMs = API_GATEWAY_TIMEOUT_MS } = resources;
  const pepper = required(config, 'API_SECRET_PEPPER');
  const background = createBackgroundWork(log);
  const workflows = createOrderWorkflows(temporal, responseTimeoutMs);
  const present = createOrderPresenter(config.publicBaseUrl);
  const { durations } = config;
  const orders = { sql, workflows, durations, present, log };
  const gateways = await composeGateways(resources, gatewayTimeoutMs);
  const gatewaySlots = createGatewaySlots();
  const sessionMs = durations.paymentSessionMs;
  const sessions = { sql, workflows, gateways, sessionMs, log };
  const helpers = composeTestHelpers(temporal, { sessions, orders });
  const readiness = createReadiness({
    database: () => sql`SELECT 1`,
    temporal: () => temporal.workflowService.getSystemInfo({}),
  });
  const ofBuyers = buyerPages(config, { sessions, gatewaySlots, orders });
  const routes = [
    ...orderRoutes({ ...orders, gatewaySlots }),
    ...eventRoutes({ sql, retries: createDeliveryRetries(temporal) }),
    statementRoute(sql),
    ...paymentSessionRoutes({ ...sessions, gatewaySlots }),
    ...helpers.map((helper) => commandRoute({ gatewaySlots }, helper)),
    failAfterWorkRoute(sql),
    ...ofBuyers,
    ...callbackRoutes({ sql, workflows, gateways, log, background, callbackTimeoutMs }, adapters),
  ];
  const declared = [...merchantCommands(orders), ...helpers];
  const documentation = documentationOf(routes, config.publicBaseUrl);
  const { createOrderCommand } = documentation;
  const shared = { declared, orders, createOrderCommand, gateways, gatewaySlots, readiness };
  const { routes: pages, notFoundPage } = composeDashboard(resources, shared);
  const app = createApp({
    routes: [
      ...routes,
      ...pages,
      ...PAGE_FILES,
      ...documentation.routes,
      ...securityTxtRoutes({
        contact: config.securityContact,
        policyUrl: config.securityPolicyUrl,
        publicBaseUrl: config.publicBaseUrl,
      }),
    ],
    authenticate: composeAuthenticate({ sql, pepper, log }),
    rateLimiter: composeRateLimiter(resources),
    notFoundPage,
    readiness,
    trustedProxies: config.trustedProxies,
    log,
    checkResponses: config.nodeEnv === 'test',
    responseTimeoutMs,
  });
  return { app, readiness, background, pages, ofBuyers };
}

/**
 * Builds the dependencies of the worker's activities. `close` waits for the webhooks under way,
 * and closes the connections of their sender and of the ledger's proof.
 *
 * @throws ConfigError if WEBHOOK_SECRET_KEYS, DATA_ENCRYPTION_KEYS or DATABASE_URL is missing
 */
export async function composeActivities(resources: Resources) {
  const { config, sql, temporal, log, responseTimeoutMs } = resources;
  const keys = required(config, 'WEBHOOK_SECRET_KEYS');
  const sender = createWebhookSender(webhookRules(config));
  const isProduction = config.nodeEnv === 'production';
  const ledgerSql = connectDatabase(required(config, 'DATABASE_URL'), {
    name: 'ledger',
    maxConnections: 1,
    statementTimeoutMs: LEDGER_STATEMENT_TIMEOUT_MS,
  });
  const background = createBackgroundWork(log);
  const { durations } = config;
  const present = createOrderPresenter(config.publicBaseUrl);
  const workflows = createOrderWorkflows(temporal, responseTimeoutMs);
  const mailBox = createSecretBox(required(config, 'DATA_ENCRYPTION_KEYS'));
  const { publicBaseUrl } = config;
  const orderMails = config.mail && {
    sql,
    log,
    mailBox,
    publicBaseUrl,
    mailedEnvironments: mailedEnvironments(config),
  };
  const deps: ActivityDeps = {
    sql,
    background,
    ledgerSql,
    log,
    attemptLog: createAttemptLog(sql),
    sender,
    secretBox: createSecretBox(keys),
    mailBox,
    mailer:
      config.mail &&
      createMailer({
        ...config.mail,
        supportEmail: config.supportEmail,
        requiresTls: isProduction,
      }),
    mails: createMailWorkflows(temporal),
    apiVersion: API_VERSION,
    retryDelaysMs: config.webhookRetryDelaysMs,
    workflows,
    durations,
    linkedAccountChangeMs: durations.linkedAccountChangeMs,
    gateways: await composeGateways(resources, WORKER_GATEWAY_TIMEOUT_MS),
    sessionMs: durations.paymentSessionMs,
    retries: createDeliveryRetries(temporal),
    publicBaseUrl,
    present,
    orderMails,
    sweepAfterMs: durations.sweepAfterMs,
  };
  const close = async () => {
    await background.finish();
    await Promise.all([sender.close(), ledgerSql.end({ timeout: 1 })]);
  };
  return { deps, close };
}
