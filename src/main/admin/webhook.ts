import { EVENT_TYPES } from '../../domain/index.ts';
import { API_VERSION } from '../../http/versions.ts';
import {
  findEndpoint,
  removeWebhookUrl,
  rotateWebhookSecret,
  saveWebhookUrl,
} from '../../webhooks/endpoints/endpoints.ts';
import { createUrlCheck, webhookRules } from '../compose/webhook-rules.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand, ENVIRONMENT, MERCHANT } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts } from './text.ts';

const SHOWN_ONCE = 'The secret is shown only once. Its prefix whsec_ is part of the signing key.';

const endpointOptions = { merchant: MERCHANT, environment: ENVIRONMENT } as const;

function endpointDeps({ sql, actor, secretBox }: AdminService) {
  return { sql, actor, secretBox: secretBox() };
}

const setCommand = defineCommand({
  name: 'webhook set',
  summary: 'Set the webhook URL; the first time, the secret is generated and shown',
  notes: `Production accepts https only. Localhost, private addresses and cloud metadata are refused; a host name that
does not resolve is saved with a warning.`,
  options: {
    ...endpointOptions,
    url: { value: 'URL', help: 'The URL of the endpoint', required: true },
  },
  async run(service, { merchant, environment, url }) {
    const deps = { ...endpointDeps(service), checkUrl: createUrlCheck(service.config) };
    const { secret, warning } = await saveWebhookUrl(deps, merchant, environment, url);
    const text = facts({
      Merchant: merchant,
      Environment: environment,
      URL: url,
      Secret: secret ?? 'unchanged (webhook rotate-secret replaces it)',
    });
    const data = { merchantId: merchant, environment, url, secret, warning };
    return { data, text: blocks(text, secret && SHOWN_ONCE, warning && `Warning: ${warning}`) };
  },
});

const showCommand = defineCommand({
  name: 'webhook show',
  summary: 'Show the webhook URL',
  options: endpointOptions,
  async run({ sql }, { merchant, environment }) {
    const endpoint = await findEndpoint(sql, merchant, environment);
    const text = facts({
      Merchant: merchant,
      Environment: environment,
      URL: endpoint.url ?? 'none: no webhooks are sent',
      Secret: endpoint.hasSecret ? 'set' : 'none yet',
      Changed: endpoint.updatedAt,
    });
    return { data: { merchantId: merchant, environment, ...endpoint }, text };
  },
});

const rotateCommand = defineCommand({
  name: 'webhook rotate-secret',
  summary: 'Replace the secret: the next attempt is signed with the new one',
  options: endpointOptions,
  async run(service, { merchant, environment }) {
    const { secret } = await rotateWebhookSecret(endpointDeps(service), merchant, environment);
    const data = { merchantId: merchant, environment, secret };
    return { data, text: blocks(facts({ Secret: secret }), SHOWN_ONCE) };
  },
});

const removeCommand = defineCommand({
  name: 'webhook remove',
  summary: 'Remove the URL: pending deliveries become FAILED at their next attempt',
  options: endpointOptions,
  async run({ sql, actor }, { merchant, environment }) {
    await removeWebhookUrl({ sql, actor }, merchant, environment);
    const text = `Webhooks to ${merchant} in ${environment} are switched off.`;
    return { data: { merchantId: merchant, environment, url: null }, text };
  },
});

const testCommand = defineCommand({
  name: 'webhook test',
  summary: 'Send one test event now, signed like any webhook; exit 1 unless it is accepted',
  notes: `The order of the event does not exist; TEST has the sequence 0. It is sent once, from this machine, and no
delivery is recorded. In production only TEST can be sent.`,
  options: {
    ...endpointOptions,
    event: {
      value: 'TYPE',
      help: 'TEST or one of the nine events',
      choices: ['TEST', ...EVENT_TYPES],
      fallback: 'TEST',
    },
  },
  async run(service, { merchant, environment, event }) {
    const [{ createWebhookSender }, { sendTestEvent }] = await Promise.all([
      import('../../webhooks/sending/sender.ts'),
      import('../../webhooks/endpoints/test-event.ts'),
    ]);
    const sender = createWebhookSender(webhookRules(service.config));
    try {
      const { log } = service;
      const deps = { ...endpointDeps(service), sender, log, apiVersion: API_VERSION };
      const result = await sendTestEvent(deps, merchant, environment, event);
      const text = facts({
        URL: result.url,
        Result: result.delivered ? 'accepted' : `not accepted: ${result.error}`,
        Status: result.statusCode,
        'Duration (ms)': result.durationMs,
        Event: result.eventId,
      });
      const data = { merchantId: merchant, environment, ...result };
      return { data, text, failed: !result.delivered };
    } finally {
      await sender.close();
    }
  },
});

/** The commands for webhook URLs and secrets. */
export const WEBHOOK_COMMANDS: readonly AdminCommand[] = [
  setCommand,
  showCommand,
  rotateCommand,
  removeCommand,
  testCommand,
];
