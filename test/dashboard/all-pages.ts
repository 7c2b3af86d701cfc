import type { Audience } from '../../src/dashboard/viewer.ts';
import type { Route } from '../../src/http/define-route.ts';
import { propose } from '../../src/proposals/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { createMailWorkflows } from '../../src/temporal/mail-workflows.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { complete } from '../support/applications.ts';
import { anAccountId } from '../support/linked-accounts.ts';
import { aProposer } from '../support/proposals.ts';
import { ordersOf } from '../support/orders.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import type { TestService } from '../support/service.ts';
import { operatorUser } from '../support/users.ts';
import { dashboardTest } from './dashboard-test.ts';

/** The buyer of the file's merchant's order. */
export const BUYER = 'meera@buyers.example';

const kindOf = ({ path }: Route): Exclude<Audience, 'site'> => {
  if (path.startsWith('/operator')) return 'operator';
  return /^\/dashboard\/(sandbox|production)(\/|$|\.)/.test(path) ? 'merchant' : 'anyone';
};

/** Everything of the file's merchant that a page may name, and the words that only its pages show. */
async function objectsOf(service: TestService, merchantId: string) {
  const { sql } = service;
  const dataBox = createSecretBox(SECRET_KEYS);
  const mails = createMailWorkflows(service.temporal.client);
  const { publicBaseUrl } = service.config;
  const deps = { sql, dataBox, mailBox: dataBox, mails, publicBaseUrl, actor: TEST_ACTOR };
  await sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
  await complete(deps, merchantId);
  await sql`UPDATE merchants SET status = 'APPROVED' WHERE merchant_id = ${merchantId}`;
  const [document] = await sql<{ documentId: string }[]>`
    SELECT document_id FROM merchant_documents WHERE merchant_id = ${merchantId} LIMIT 1`;
  const [delivery] = await sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries WHERE merchant_id = ${merchantId} LIMIT 1`;
  const [alert] = await sql<{ alertId: number }[]>`
    INSERT INTO alerts (kind, subject, details) VALUES ('gateway_refused', 'ORD', '{"message": "The gateway refuses the release"}')
    RETURNING alert_id`;
  const operator = await aProposer(service, 'admin');
  const proposal = await propose(service.deps, operator, {
    kind: 'merchant.linkedAccount',
    subject: merchantId,
    parameters: { linkedAccountId: anAccountId() },
    reason: 'The merchant has opened it',
  });
  return {
    proposal,
    document: document!.documentId,
    delivery: delivery!.deliveryId,
    alert: String(alert!.alertId),
  };
}

/** `pages` of this `test` has every page, with the objects of the file's merchant in its URL. */
export function allPagesTest() {
  return dashboardTest({ time: 'real' })
    .extend('objects', { scope: 'file' }, async ({ service, merchant }) => {
      const order = await ordersOf(service, merchant).in('DISPUTE_UNDER_REVIEW');
      await service.sql`UPDATE orders SET buyer_email = ${BUYER}`;
      return {
        order: order.orderNumber,
        merchant: merchant.merchantId,
        ...(await objectsOf(service, merchant.merchantId)),
      };
    })
    .extend('someOperator', { scope: 'file' }, ({ service }) =>
      operatorUser(service.sql, 'support'),
    )
    .extend('pages', ({ service, objects, someOperator }) => {
      const fill = (path: string) =>
        path
          .replace('/orders/{id}', `/orders/${objects.order}`)
          .replace('{order}', objects.order)
          .replace('/deliveries/{id}', `/deliveries/${objects.delivery}`)
          .replace('/operators/{id}', `/operators/${someOperator.userId}`)
          .replace('{delivery}', objects.delivery)
          .replace('{merchant}', objects.merchant)
          .replace('{document}', objects.document)
          .replace('{alert}', objects.alert)
          .replace('{proposal}', objects.proposal)
          .replace('{action}', 'deliverOrder')
          .replace('{token}', 'A'.repeat(43));
      const routes = service.pages.filter(({ path }) => !path.startsWith('/dashboard/files/'));
      return routes.map((route) => ({
        route,
        kind: kindOf(route),
        name: `${route.method} ${route.path}`,
        hasObject: route.path.includes('{'),
        url: fill(route.path),
      }));
    });
}
