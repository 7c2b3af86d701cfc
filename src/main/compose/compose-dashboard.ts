import { createKeptForms, readSession } from '../../accounts/public.ts';
import { required } from '../../config.ts';
import { createOrderActions } from '../../dashboard/orders/actions.ts';
import type { Dashboard } from '../../dashboard/routes.ts';
import { createDashboard } from '../../dashboard/routes.ts';
import { webhookBanner } from '../../dashboard/settings/parts.ts';
import type { LimiterByEnvironment } from '../../http/limits/slots.ts';
import { createPageRateLimiter } from '../../http/limits/rate-limit.ts';
import type { Readiness } from '../../http/server/readiness.ts';
import { API_VERSION } from '../../http/versions.ts';
import { createMerchantOrders } from '../../orders/lists/merchant-orders.ts';
import type { SendDeps } from '../../orders/public.ts';
import type { DeclaredCommand } from '../../orders/routes/command-routes.ts';
import type { Gateways } from '../../payments/public.ts';
import { createSecretBox } from '../../secret-box.ts';
import { createDeliveryRetries } from '../../temporal/delivery-retries.ts';
import { createMailWorkflows } from '../../temporal/mail-workflows.ts';
import { createWorkflowInspector } from '../../temporal/pending-activities.ts';
import { createWebhookSender } from '../../webhooks/sending/sender.ts';
import { composeAccounts } from './compose-accounts.ts';
import type { Resources } from './resources.ts';
import { createUrlCheck, webhookRules } from './webhook-rules.ts';

/** What the dashboard shares with the API. */
interface SharedWithApi {
  /** The commands on orders, of which the API has routes and the order's page has forms. */
  declared: readonly DeclaredCommand[];
  orders: SendDeps;
  gateways: Gateways;
  gatewaySlots: LimiterByEnvironment;
  readiness: Readiness;
  /** Of the documentation, for the first page. */
  createOrderCommand: string;
}

/**
 * The dashboard's pages with what they call.
 *
 * @throws ConfigError if API_SECRET_PEPPER, WEBHOOK_SECRET_KEYS or DATA_ENCRYPTION_KEYS is missing
 */
export function composeDashboard(resources: Resources, shared: SharedWithApi): Dashboard {
  const { config, sql, temporal, log } = resources;
  const { publicBaseUrl, dashboardRateLimitPerSecond: limitPerSecond, proposalAbovePaise } = config;
  const { declared, orders, gatewaySlots } = shared;
  const retries = createDeliveryRetries(temporal);
  const dataBox = createSecretBox(required(config, 'DATA_ENCRYPTION_KEYS'));
  const mails = createMailWorkflows(temporal);
  const notices = { sql, mailBox: dataBox, mails, publicBaseUrl };
  const proposals = {
    ...notices,
    ...orders,
    linkedAccountChangeMs: config.durations.linkedAccountChangeMs,
    gateways: shared.gateways,
  };
  return createDashboard({
    pages: {
      publicBaseUrl,
      supportEmail: config.supportEmail,
      rateLimiter: createPageRateLimiter(limitPerSecond),
      log,
      forms: createKeptForms({ sql, dataBox }),
      readSession: (token, isActivity) => readSession({ sql }, token, isActivity),
      readBanners: (merchantId, environment) => webhookBanner(sql, { merchantId, environment }),
    },
    site: {
      readiness: shared.readiness,
      createOrderCommand: shared.createOrderCommand,
    },
    accounts: composeAccounts(resources),
    orders: {
      sql,
      orders: createMerchantOrders(sql),
      actions: createOrderActions(declared, { publicBaseUrl, gatewaySlots }),
      refundAsksAbovePaise: proposalAbovePaise,
      paymentUrlOf: (order) => orders.present(order).payment_url,
      notices,
    },
    settings: {
      sql,
      pepper: required(config, 'API_SECRET_PEPPER'),
      secretBox: createSecretBox(required(config, 'WEBHOOK_SECRET_KEYS')),
      checkUrl: createUrlCheck(config),
      sender: createWebhookSender(webhookRules(config)),
      apiVersion: API_VERSION,
      retries,
      notices,
    },
    onboarding: { ...proposals, dataBox, notices },
    operator: {
      ...proposals,
      proposalAbovePaise,
      inspector: createWorkflowInspector(temporal),
      retries,
      temporalNamespace: config.temporalNamespace,
      temporalUiUrl: config.temporalUiUrl,
    },
  });
}
