import type { Route } from '../http/define-route.ts';
import { docsRoutes } from '../http/docs.ts';
import { createOpenApiDocument } from '../http/openapi.ts';
import { createVersionRegistry } from '../http/versions.ts';
import { WEBHOOK_EVENTS } from '../orders/webhook-events.ts';
import { guide } from './documentation/guide.ts';
import { OPERATION_NOTES } from './documentation/operations.ts';

const SUMMARY = `Create payment orders in INR, let buyers pay them by UPI, confirm delivery and
handle disputes. Each order tells your webhook what becomes of it.`;

const TAGS = [
  { name: 'Orders', description: 'Create, find, deliver and cancel orders.' },
  { name: 'Payment sessions', description: 'For a payment page of your own.' },
  { name: 'Disputes', description: 'Answer what a buyer has raised.' },
  {
    name: 'Sandbox test helpers',
    description: 'Play the buyer, and let time pass. They exist under the sandbox path only.',
  },
];

/**
 * `/openapi.json` of these routes and of the webhooks, and `/docs` that shows it.
 *
 * @param publicBaseUrl where the service is reached, for the commands of the guide
 */
export function documentationOf(routes: readonly Route[], publicBaseUrl: string): Route[] {
  const versions = createVersionRegistry();
  const document = createOpenApiDocument({
    routes,
    webhooks: WEBHOOK_EVENTS,
    version: versions.current,
    supportedVersions: versions.supported(Date.now()),
    title: 'Merchant Payment Order Service',
    description: `${SUMMARY}\n\n${guide(publicBaseUrl)}`,
    tags: TAGS,
    notes: OPERATION_NOTES,
  });
  return docsRoutes(document);
}
