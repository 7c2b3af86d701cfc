import type { Route } from '../http/define-route.ts';
import { docsRoutes } from '../http/docs.ts';
import { createOpenApiDocument } from '../http/openapi.ts';
import { createVersionRegistry } from '../http/versions.ts';
import { WEBHOOK_EVENTS } from '../orders/webhook-events.ts';

const DESCRIPTION = `Create payment orders in INR, let buyers pay them by UPI, confirm delivery and
handle disputes. Both credential headers go with every request; check \`success\` first in every
answer. Repeat a request that got 500 or 502 with the same \`Idempotency-Key\`.`;

/** `/openapi.json` of these routes and of the webhooks, and `/docs` that shows it. */
export function documentationOf(routes: readonly Route[]): Route[] {
  const versions = createVersionRegistry();
  const document = createOpenApiDocument({
    routes,
    webhooks: WEBHOOK_EVENTS,
    version: versions.current,
    supportedVersions: versions.supported(Date.now()),
    title: 'Merchant Payment Order Service',
    description: DESCRIPTION,
  });
  return docsRoutes(document);
}
