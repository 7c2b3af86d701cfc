import { z } from 'zod';
import type { Alongside } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { admitSend } from '../../merchants/public.ts';
import {
  attemptsByHour,
  endpointFigures,
  findEndpoint,
  removeWebhookUrl,
  rotateWebhookSecret,
  saveWebhookUrl,
  sendTestEvent,
  testEventTypesOf,
} from '../../webhooks/public.ts';
import { noticed, refusedAt } from '../context.ts';
import type { MerchantViewer } from '../viewer.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import type { SettingsDeps } from './parts.ts';
import { settingsPage } from './parts.ts';
import { newWebhookSecretView } from './questions.ts';
import type { WebhooksContent } from './webhooks-view.ts';
import { webhooksView } from './webhooks-view.ts';

/** An attempt takes up to 15 s, and waits up to 1 s for its slot. */
const TEST_EVENT_TIMEOUT_MS = 20_000;
/** A DNS server takes up to 3 s. */
const SAVE_TIMEOUT_MS = 10_000;

export const webhookPages = [
  settingsPage('GET /webhooks', {
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ viewer, query }, deps) => {
    const content = await readContent(deps, viewer);
    return { view: webhooksView({ ...content, done: query.done }) };
  }),
  settingsPage('POST /webhooks', {
    body: z.object({ url: z.string().default('') }),
    responseTimeoutMs: SAVE_TIMEOUT_MS,
  }).handledBy(async (request, deps) => {
    const { viewer, body, actor } = request;
    const { merchantId, environment } = viewer;
    const url = body.url.trim();
    await admitSend(deps.sql, merchantId, 'webhook_url');
    const act = { kind: 'webhook.set', url } as const;
    const save = (alongside?: Alongside) =>
      saveWebhookUrl({ ...deps, actor, alongside }, merchantId, environment, url);
    const { url: before } = await findEndpoint(deps.sql, merchantId, environment);
    const { secret, warning } = await refusedAt('url', () =>
      before === url ? save() : noticed(deps, request, act, save),
    );
    if (secret) return { view: newWebhookSecretView(environment, secret, warning) };
    const done = warning ? 'unresolved' : 'url';
    return { seeOther: pathOf({ environment }, `/webhooks?done=${done}`) };
  }),
  settingsPage('POST /webhooks/rotate-secret').handledBy(async (request, deps) => {
    const { viewer, actor } = request;
    const { merchantId, environment } = viewer;
    const act = { kind: 'webhook.rotate_secret' } as const;
    const { secret } = await noticed(deps, request, act, (alongside) =>
      rotateWebhookSecret({ ...deps, actor, alongside }, merchantId, environment),
    );
    return { view: newWebhookSecretView(environment, secret, null) };
  }),
  settingsPage('POST /webhooks/remove').handledBy(async (request, deps) => {
    const { viewer, actor } = request;
    const { merchantId, environment } = viewer;
    await noticed(deps, request, { kind: 'webhook.remove' }, (alongside) =>
      removeWebhookUrl({ sql: deps.sql, actor, alongside }, merchantId, environment),
    );
    return { seeOther: pathOf(viewer, '/webhooks?done=removed') };
  }),
  // The answer of the form has the result, because a test event is not stored.
  settingsPage('POST /webhooks/test', {
    formPath: '/webhooks',
    body: z.object({ event: z.string().default('TEST') }),
    responseTimeoutMs: TEST_EVENT_TIMEOUT_MS,
  }).handledBy(async ({ viewer, body, actor, log }, deps) => {
    const { merchantId, environment } = viewer;
    const event = testEventTypesOf(environment).find((type) => type === body.event);
    if (event === undefined) {
      const message = `In ${environment}, no test event ${body.event} can be sent`;
      throw new DomainError('BAD_REQUEST', message);
    }
    const sending = { ...deps, actor, log };
    const result = await sendTestEvent(sending, merchantId, environment, event);
    const content = await readContent(deps, viewer);
    return { view: webhooksView({ ...content, tested: { event, ...result } }) };
  }),
];

async function readContent(
  { sql }: SettingsDeps,
  viewer: MerchantViewer,
): Promise<WebhooksContent> {
  const { merchantId, environment } = viewer;
  const [endpoint, figures] = await Promise.all([
    findEndpoint(sql, merchantId, environment),
    endpointFigures(sql, ownerOf(viewer)),
  ]);
  const hours = await attemptsByHour(sql, ownerOf(viewer), figures.since);
  return { environment, endpoint, figures, hours };
}
