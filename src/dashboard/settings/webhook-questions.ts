import { h } from 'preact';
import type { Environment } from '../../domain/index.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { copyable, downloadText, notice, section } from '../view/parts.ts';
import { form, link } from '../view/url.ts';
import { IN_ENVIRONMENT, pathOf } from './deps.ts';

/** The page that asks before a webhook secret is replaced. */
export function rotateWebhookSecretView(environment: Environment): View {
  return question(environment, {
    title: 'Replace the webhook secret',
    danger:
      'The old secret stops working at once: the next webhook is signed with the new one, and your ' +
      'server refuses it until it has the new secret.' +
      inProduction(environment, ' your shop does not learn of payments meanwhile.'),
    more: 'The new secret is shown once, on the next page. Refused webhooks are sent again later.',
    path: '/webhooks/rotate-secret',
    action: `Replace the ${environment} webhook secret now`,
    back: 'Keep the old secret',
  });
}

/** The page that asks before a URL is removed. */
export function removeUrlView(environment: Environment): View {
  return question(environment, {
    title: 'Remove the webhook URL',
    danger:
      'No more events are sent. Webhooks that wait become FAILED at their next attempt.' +
      inProduction(environment, ' your shop does not learn of payments any more.'),
    more: 'The secret is kept for the next URL. FAILED webhooks can be sent again then.',
    path: '/webhooks/remove',
    action: `Remove the ${environment} URL`,
    back: 'Keep the URL',
  });
}

const inProduction = (environment: Environment, text: string) =>
  environment === 'production' ? ` This is production:${text}` : '';

function question(
  environment: Environment,
  texts: Readonly<Record<'title' | 'danger' | 'more' | 'path' | 'action' | 'back', string>>,
): View {
  return {
    title: texts.title,
    content: section(
      'question',
      `The endpoint ${IN_ENVIRONMENT[environment]}`,
      notice('bad', texts.danger),
      h('p', null, texts.more),
      form(pathOf(environment, texts.path), {}, submit(texts.action, 'danger')),
      h('p', null, link(pathOf(environment, '/webhooks'), texts.back)),
    ),
  };
}

/** The only page with a webhook secret in clear text. */
export function newWebhookSecretView(
  environment: Environment,
  secret: string,
  warning: string | null,
): View {
  return {
    title: `Your ${environment} webhook secret`,
    content: section(
      'secret',
      'Save it now',
      notice(
        'wait',
        'The secret is shown only this once. Save it before you leave this page.',
        'status',
      ),
      copyable('webhook secret', secret),
      h(
        'p',
        null,
        'Your server checks with it that a webhook comes from us. Its prefix whsec_ is part of the key.',
      ),
      h(
        'p',
        null,
        downloadText('Save as a file', `${environment}-webhook-secret.txt`, `${secret}\n`),
      ),
      warning !== null && notice('wait', ['The URL is saved. ', warning]),
      h('p', null, link(pathOf(environment, '/webhooks'), 'I have saved it')),
    ),
  };
}
