import { Readable } from 'node:stream';
import { createKeptForms, readSession } from '../../accounts/public.ts';
import { required } from '../../config.ts';
import type { Dashboard } from '../../dashboard/routes.ts';
import { createDashboard } from '../../dashboard/routes.ts';
import { webhookAttention, webhookBanner } from '../../dashboard/settings/banner.ts';
import type { Readiness } from '../../http/server/readiness.ts';
import type { GatewaySlots } from '../../http/limits/gateway-slots.ts';
import { createPageRateLimiter } from '../../http/limits/rate-limit.ts';
import { API_VERSION } from '../../http/versions.ts';
import type { MoneyOwner } from '../../ledger/public.ts';
import {
  readMoneyDays,
  readStatement,
  readStatementTotals,
  runningLedger,
  showLedger,
  statementCsv,
} from '../../ledger/public.ts';
import { readApplication, readFirstSteps } from '../../onboarding/public.ts';
import { createOrderActions } from '../../orders/commands/actions.ts';
import { createMerchantOrders } from '../../orders/lists/merchant-orders.ts';
import type { DeclaredCommand } from '../../orders/routes/route-parts.ts';
import type { PresentOrder } from '../../orders/presenter.ts';
import type { Environment } from '../../domain/index.ts';
import type { OrderCommands } from '../../orders/public.ts';
import type { Gateways } from '../../payments/public.ts';
import { isHoldRefused } from '../../payments/public.ts';
import { createSecretBox } from '../../secret-box.ts';
import { createDeliveryRetries } from '../../temporal/delivery-retries.ts';
import { createMailWorkflows } from '../../temporal/mail-workflows.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';
import { createWorkflowInspector } from '../../temporal/pending-activities.ts';
import { createWebhookSender } from '../../webhooks/sending/sender.ts';
import { composeAccounts } from './compose-accounts.ts';
import type { Resources } from './compose.ts';
import { createUrlCheck, webhookRules } from './webhook-rules.ts';

/** What the dashboard shares with the API. */
export interface SharedWithApi {
  /** The commands on orders, of which the API has routes and the order's page has forms. */
  declared: readonly DeclaredCommand[];
  present: PresentOrder;
  commands: OrderCommands;
  workflows: OrderWorkflows;
  gateways: Gateways;
  gatewaySlots: GatewaySlots;
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
  const retries = createDeliveryRetries(temporal);
  const dataBox = createSecretBox(required(config, 'DATA_ENCRYPTION_KEYS'));
  const mails = createMailWorkflows(temporal);
  const notices = { sql, mailBox: dataBox, mails, publicBaseUrl };
  const proposals = {
    ...notices,
    log,
    linkedAccountChangeMs: config.durations.linkedAccountChangeMs,
    commands: shared.commands,
    workflows: shared.workflows,
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
      readBanners: (merchantId, environment) => webhookBanner({ sql }, { merchantId, environment }),
    },
    site: {
      readiness: shared.readiness,
      createOrderCommand: shared.createOrderCommand,
    },
    accounts: composeAccounts(resources),
    money: {
      readStatement: readStatement.bind(undefined, sql),
      readTotals: readStatementTotals.bind(undefined, sql),
      statementCsv: async (owner: MoneyOwner, day: string) =>
        Readable.from(await statementCsv(sql, owner, day, { reader: 'person' })),
    },
    orders: { ...orderPagesDeps(resources, shared), notices },
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

/** Of an order's ledger, the most that its page shows; the balances after each are those of all. */
const MOST_LINES = 100;

function orderPagesDeps({ config, sql }: Resources, shared: SharedWithApi) {
  const { declared, present, gatewaySlots } = shared;
  const { publicBaseUrl } = config;
  return {
    orders: createMerchantOrders(sql),
    actions: createOrderActions(declared, { publicBaseUrl, gatewaySlots }),
    refundAsksAbovePaise: config.proposalAbovePaise,
    readLedger: async (orderNumber: string) =>
      runningLedger((await showLedger(sql, orderNumber)).lines).slice(-MOST_LINES),
    isHoldRefused: isHoldRefused.bind(undefined, sql),
    readMoneyDays: readMoneyDays.bind(undefined, sql),
    paymentUrlOf: (order: Parameters<PresentOrder>[0]) => present(order).payment_url,
    readApplicationState: async (merchantId: string) =>
      (await readApplication(sql, merchantId)).state,
    readFirstSteps: readFirstSteps.bind(undefined, sql),
    moreAttention: [
      (merchantId: string, environment: Environment) =>
        webhookAttention({ sql }, { merchantId, environment }),
    ],
  };
}
