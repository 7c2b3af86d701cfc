import type { Route } from '../http/define-route.ts';
import { commandOf, docsRoutes } from './routes.ts';
import { createOpenApiDocument } from './openapi/openapi.ts';
import type { OperationNotes } from './openapi/openapi-responses.ts';
import { createVersionRegistry } from '../http/versions.ts';
import { WEBHOOK_EVENTS } from '../orders/public.ts';
import { guide } from './guide.ts';
import { OPERATION_NOTES } from './operations.ts';
import { CODE_SAMPLES } from './samples.ts';

const SUMMARY = `Create payment orders in INR, let buyers pay them by UPI, confirm delivery and
handle disputes. Webhooks notify you of each event of an order.`;

const TAGS = [
  { name: 'Orders', description: 'Create, find, deliver and cancel orders.' },
  { name: 'Payment sessions', description: 'For merchants with their own payment page.' },
  { name: 'Disputes', description: 'Respond to the disputes that buyers raise.' },
  { name: 'Events', description: 'Read the events of your orders, and send one again.' },
  { name: 'Statements', description: 'Read what became of your money, day by day.' },
  {
    name: 'Sandbox test helpers',
    description:
      "Act as the buyer, and advance an order's clock. They exist under the sandbox path only.",
  },
];

/** The notes of each operation, with its samples. */
function withSamples(routes: readonly Route[]): Readonly<Record<string, OperationNotes>> {
  const notes = routes.flatMap(({ operationId }) => {
    const samples = CODE_SAMPLES[operationId];
    return samples ? [[operationId, { ...OPERATION_NOTES[operationId], samples }] as const] : [];
  });
  return { ...OPERATION_NOTES, ...Object.fromEntries(notes) };
}

/** The routes of the documentation, and what another page shows of it. */
interface Documentation {
  readonly routes: Route[];
  /** The command that creates an order, as the reference has it. */
  readonly createOrderCommand: string;
}

/**
 * Declares `/openapi.json`, which describes these routes and the webhooks, and its page `/docs`.
 *
 * @param publicBaseUrl the public URL of the service, for the commands of the guide
 */
export function documentationOf(routes: readonly Route[], publicBaseUrl: string): Documentation {
  const versions = createVersionRegistry();
  const document = createOpenApiDocument({
    routes,
    webhooks: WEBHOOK_EVENTS,
    version: versions.current,
    supportedVersions: versions.supported(Date.now()),
    title: 'Merchant Payment Order Service',
    description: `${SUMMARY}\n\nThe guide is at ${publicBaseUrl}/docs.`,
    contact: { name: 'Documentation and support', url: `${publicBaseUrl}/docs` },
    tags: TAGS,
    notes: withSamples(routes),
  });
  return {
    routes: docsRoutes(document, guide(publicBaseUrl), publicBaseUrl),
    createOrderCommand: commandOf(document, 'createOrder'),
  };
}
