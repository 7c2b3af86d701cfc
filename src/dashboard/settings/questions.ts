import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { Environment } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import type { KeyPair } from '../../merchants/public.ts';
import { curlOfFirstOrder } from '../../orders/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { notice, section } from '../view/parts.ts';
import { copyable, downloadText } from '../view/texts.ts';
import { form, link } from '../view/url.ts';
import { pathOf } from '../viewer.ts';
import { IN_ENVIRONMENT } from './parts.ts';

interface Question {
  id: string;
  title: string;
  subject: string;
  danger: string;
  /** The effect on the shop in production. */
  inProduction: string;
  more: string;
  text: (environment: Environment) => string;
  back: '/keys' | '/webhooks';
  backText: string;
}

/** The keys are the path of the question's page and of its form. */
const QUESTIONS: Readonly<Record<`/${string}`, Question>> = {
  '/keys/rotate': {
    id: 'rotate',
    title: 'Replace the secret',
    subject: 'The API secret',
    danger:
      'The old secret stops working at once: every request with it is refused with 401 until your server has the new one.',
    inProduction: 'takes no payments meanwhile',
    more: 'The key itself stays. The new secret is shown once, on the next page.',
    text: (environment) => `Replace the ${environment} secret now`,
    back: '/keys',
    backText: 'Keep the old secret',
  },
  '/webhooks/rotate-secret': {
    id: 'question',
    title: 'Replace the webhook secret',
    subject: 'The endpoint',
    danger:
      'The old secret stops working at once: the next webhook is signed with the new one, and your ' +
      'server refuses it until it has the new secret.',
    inProduction: 'does not learn of payments meanwhile',
    more: 'The new secret is shown once, on the next page. Refused webhooks are sent again later.',
    text: (environment) => `Replace the ${environment} webhook secret now`,
    back: '/webhooks',
    backText: 'Keep the old secret',
  },
  '/webhooks/remove': {
    id: 'question',
    title: 'Remove the webhook URL',
    subject: 'The endpoint',
    danger: 'No more events are sent. Webhooks that wait become FAILED at their next attempt.',
    inProduction: 'does not learn of payments any more',
    more: 'The secret is kept for the next URL. FAILED webhooks can be sent again then.',
    text: (environment) => `Remove the ${environment} URL`,
    back: '/webhooks',
    backText: 'Keep the URL',
  },
};

export function questionPages(context: PageContext): Route[] {
  return Object.entries(QUESTIONS).flatMap(([path, question]) =>
    definePage(context, 'merchant', `GET /${path.slice(1)}`, { asksFirst: true }).handledBy(
      async ({ viewer }) => ({ view: questionView(viewer, path, question) }),
    ),
  );
}

function questionView(
  viewer: { environment: Environment },
  path: string,
  { id, title, subject, danger, inProduction, more, text, back, backText }: Question,
): View {
  const { environment } = viewer;
  const isProduction = environment === 'production';
  return {
    title,
    content: section(
      id,
      `${subject} ${IN_ENVIRONMENT[environment]}`,
      notice(
        'bad',
        isProduction ? `${danger} This is production: your shop ${inProduction}.` : danger,
      ),
      h('p', null, more),
      form(pathOf(viewer, path), {}, submit(text(environment), 'danger')),
      h('p', null, link(pathOf(viewer, back), backText)),
    ),
  };
}

/** The only page with the secret of an API key in clear text. @param publicBaseUrl of the API */
export function newSecretView(
  environment: Environment,
  { apiKey, apiSecret }: KeyPair,
  publicBaseUrl: string,
): View {
  return secretView(environment, {
    title: `Your ${environment} key and its secret`,
    heading: 'Save them now',
    content: [
      h('h3', null, 'X-API-Key'),
      copyable('API key', apiKey),
      h('h3', null, 'X-API-Secret'),
      copyable('API secret', apiSecret),
      h(
        'p',
        null,
        MONEY[environment],
        ' Use them on your server only, never in a browser or in source code.',
      ),
      environment === 'sandbox' && [
        h('h3', null, 'Create a first order with them'),
        copyable('command', curlOfFirstOrder(publicBaseUrl, environment, { apiKey, apiSecret })),
      ],
    ],
    fileName: 'api-key',
    file: `X-API-Key: ${apiKey}\nX-API-Secret: ${apiSecret}\n`,
    back: '/keys',
    saved: 'I have saved them',
  });
}

/** What a person with the key can do. */
export const MONEY = {
  sandbox: 'A sandbox key moves no real money.',
  production:
    'A production key moves real money: anyone who has the key and its secret acts as you.',
} as const satisfies Record<Environment, string>;

/** The only page with a webhook secret in clear text. */
export function newWebhookSecretView(
  environment: Environment,
  secret: string,
  warning: string | null,
): View {
  return secretView(environment, {
    title: `Your ${environment} webhook secret`,
    heading: 'Save it now',
    content: [
      copyable('webhook secret', secret),
      h(
        'p',
        null,
        'Your server checks with it that a webhook comes from us. Its prefix whsec_ is part of the key.',
      ),
    ],
    fileName: 'webhook-secret',
    file: `${secret}\n`,
    warning: warning !== null && notice('wait', ['The URL is saved. ', warning]),
    back: '/webhooks',
    saved: 'I have saved it',
  });
}

interface ShownSecret {
  title: string;
  heading: string;
  content: ComponentChildren[];
  fileName: string;
  file: string;
  warning?: ComponentChildren;
  back: '/keys' | '/webhooks';
  saved: string;
}

function secretView(environment: Environment, shown: ShownSecret): View {
  return {
    title: shown.title,
    content: section(
      'secret',
      shown.heading,
      notice(
        'wait',
        'The secret is shown only this once. Save it before you leave this page.',
        'status',
      ),
      ...shown.content,
      h(
        'p',
        null,
        downloadText('Save as a file', `${environment}-${shown.fileName}.txt`, shown.file),
      ),
      shown.warning,
      h('p', null, link(pathOf({ environment }, shown.back), shown.saved)),
    ),
  };
}
