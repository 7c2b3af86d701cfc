import { h } from 'preact';
import type { Environment } from '../../domain/index.ts';
import type { KeyPair, ListedKey, MerchantStatus } from '../../merchants/public.ts';
import { curlOfFirstOrder } from '../../orders/public.ts';
import type { FormState } from '../view/fields.ts';
import { submit, textArea } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { copyable, downloadText, facts, moment, notice, section, setting } from '../view/parts.ts';
import { form, link } from '../view/url.ts';
import { IN_ENVIRONMENT, pathOf } from './deps.ts';

/** What the page of keys shows. */
export interface KeysContent {
  environment: Environment;
  merchantStatus: MerchantStatus;
  key: ListedKey | undefined;
  domains: readonly string[];
  isSaved?: boolean;
  /** A form with domains that was refused. */
  typed?: FormState;
}

const MONEY = {
  sandbox: 'A sandbox key moves no real money.',
  production:
    'A production key moves real money: anyone who has the key and its secret acts as you.',
} as const satisfies Record<Environment, string>;

/** The page of keys. */
export function keysView(content: KeysContent): View {
  return {
    title: 'API keys',
    content: [
      content.isSaved && notice('good', 'The approved domains are saved.', 'status'),
      keySection(content),
      domainsSection(content),
    ],
  };
}

function keySection({ environment, merchantStatus, key }: KeysContent) {
  const title = `API key ${IN_ENVIRONMENT[environment]}`;
  if (key) return setting('key', title, MONEY[environment], keyFacts(key), rotateLink(environment));
  if (merchantStatus === 'PENDING' || merchantStatus === 'REJECTED') {
    return section(
      'key',
      title,
      h('p', null, 'Keys can be generated once your business is approved.'),
      h('p', null, link(pathOf(environment, '/onboarding'), 'See what is missing')),
    );
  }
  return setting(
    'key',
    title,
    `There is no key yet. ${MONEY[environment]}`,
    form(pathOf(environment, '/keys/generate'), {}, submit(`Generate the ${environment} key`)),
  );
}

function keyFacts({ apiKey, createdAt, rotatedAt, lastUsedAt }: ListedKey) {
  return [
    copyable('API key', apiKey),
    facts({
      Secret: 'Shown once, when it was generated. It is not stored in a readable form.',
      Created: moment(createdAt),
      'Secret replaced': rotatedAt && moment(rotatedAt),
      'Last used': lastUsedAt ? moment(lastUsedAt) : 'Not yet',
    }),
  ];
}

const rotateLink = (environment: Environment) =>
  h(
    'p',
    null,
    link(pathOf(environment, '/keys/rotate'), 'Replace the secret', { class: 'button second' }),
  );

function domainsSection({ environment, domains, typed }: KeysContent) {
  const state = typed ?? { values: { domains: domains.join('\n') } };
  return setting(
    'domains-title',
    'Approved domains',
    'A request from a browser is refused with 403 unless its site is in this list. Requests of your ' +
      'server are never refused for it. An empty list allows every site.',
    form(
      pathOf(environment, '/keys/domains'),
      {},
      textArea(
        {
          name: 'domains',
          label: 'Domains, one on each line',
          hint: 'Such as https://shop.example.com',
        },
        state,
      ),
      submit('Save the domains'),
    ),
  );
}

/** The page that asks before a secret is replaced. */
export function rotateKeyView(environment: Environment): View {
  return {
    title: 'Replace the secret',
    content: section(
      'rotate',
      `The API secret ${IN_ENVIRONMENT[environment]}`,
      notice(
        'bad',
        `The old secret stops working at once: every request with it is refused with 401 until your server has the new one.${
          environment === 'production'
            ? ' This is production: your shop takes no payments meanwhile.'
            : ''
        }`,
      ),
      h('p', null, 'The key itself stays. The new secret is shown once, on the next page.'),
      form(
        pathOf(environment, '/keys/rotate'),
        {},
        submit(`Replace the ${environment} secret now`, 'danger'),
      ),
      h('p', null, link(pathOf(environment, '/keys'), 'Keep the old secret')),
    ),
  };
}

/** The only page with a secret in clear text. @param publicBaseUrl of the API */
export function newSecretView(
  environment: Environment,
  { apiKey, apiSecret }: KeyPair,
  publicBaseUrl: string,
): View {
  const file = `X-API-Key: ${apiKey}\nX-API-Secret: ${apiSecret}\n`;
  return {
    title: `Your ${environment} key and its secret`,
    content: section(
      'secret',
      'Save them now',
      notice(
        'wait',
        'The secret is shown only this once. Save it before you leave this page.',
        'status',
      ),
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
      h('p', null, downloadText('Save as a file', `${environment}-api-key.txt`, file)),
      h('p', null, link(pathOf(environment, '/keys'), 'I have saved them')),
    ),
  };
}
