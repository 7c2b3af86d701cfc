import { h } from 'preact';
import { z } from 'zod';
import type { Environment } from '../../domain/index.ts';
import type { ListedKey } from '../../merchants/public.ts';
import {
  createKeyPair,
  findOrigins,
  listKeys,
  rotateSecret,
  setOrigins,
} from '../../merchants/public.ts';
import { noticed, refusedAt } from '../context.ts';
import { submit, textArea } from '../view/fields.ts';
import { doneNotice, facts, moment, section, setting } from '../view/parts.ts';
import { copyable } from '../view/texts.ts';
import { form, link } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { pathOf } from '../viewer.ts';
import { IN_ENVIRONMENT, settingsPage } from './parts.ts';
import { MONEY, newSecretView } from './questions.ts';

const DONE = { domains: 'The approved domains are saved.' } as const;

const SECRETS = [
  { path: '/keys/generate', formPath: '/keys', kind: 'key.create', make: createKeyPair },
  { path: '/keys/rotate', formPath: '/keys/rotate', kind: 'key.rotate', make: rotateSecret },
] as const;

export const keyPages = [
  settingsPage('GET /keys', {
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ viewer, query }, { sql }) => {
    const { merchantId, environment } = viewer;
    const [keys, domains] = await Promise.all([
      listKeys(sql, merchantId),
      findOrigins(sql, merchantId, environment),
    ]);
    const content = [
      doneNotice(DONE, query.done),
      keySection(
        viewer,
        keys.find((one) => one.environment === environment),
      ),
      domainsSection(environment, domains),
    ];
    return { view: { title: 'API keys', content } };
  }),
  // The secret is in the answer of the form and nowhere else, so the answer is no redirect.
  ...SECRETS.map(({ path, formPath, kind, make }) =>
    settingsPage(`POST ${path}`, { formPath }).handledBy(async (request, deps, context) => {
      const { actor, viewer } = request;
      const { merchantId, environment } = viewer;
      const pair = await noticed(deps, request, { kind }, (alongside) =>
        make({ ...deps, actor, alongside }, merchantId, environment),
      );
      return { view: newSecretView(environment, pair, context.publicBaseUrl) };
    }),
  ),
  settingsPage('POST /keys/domains', {
    formPath: '/keys',
    body: z.object({ domains: z.string().max(20_000).default('') }),
  }).handledBy(async (request, deps) => {
    const { viewer, body, actor } = request;
    const { merchantId, environment } = viewer;
    const domains = body.domains.split(/[\s,]+/).filter((domain) => domain !== '');
    await refusedAt('domains', () =>
      noticed(deps, request, { kind: 'domains.set' }, (alongside) =>
        setOrigins({ sql: deps.sql, actor, alongside }, merchantId, environment, domains),
      ),
    );
    return { seeOther: pathOf({ environment }, '/keys?done=domains') };
  }),
];

function keySection({ environment, merchantStatus }: MerchantViewer, key: ListedKey | undefined) {
  const title = `API key ${IN_ENVIRONMENT[environment]}`;
  if (key) return setting('key', title, MONEY[environment], keyFacts(key), rotateLink(environment));
  if (merchantStatus === 'PENDING' || merchantStatus === 'REJECTED') {
    return section(
      'key',
      title,
      h('p', null, 'Keys can be generated once your business is approved.'),
      h('p', null, link(pathOf({ environment }, '/onboarding'), 'See what is missing')),
    );
  }
  return setting(
    'key',
    title,
    `There is no key yet. ${MONEY[environment]}`,
    form(pathOf({ environment }, '/keys/generate'), {}, submit(`Generate the ${environment} key`)),
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
    link(pathOf({ environment }, '/keys/rotate'), 'Replace the secret', { class: 'button second' }),
  );

function domainsSection(environment: Environment, domains: readonly string[]) {
  return setting(
    'domains-title',
    'Approved domains',
    'A request from a browser is refused with 403 unless its site is in this list. Requests of your ' +
      'server are never refused for it. An empty list allows every site.',
    form(
      pathOf({ environment }, '/keys/domains'),
      {},
      textArea({
        name: 'domains',
        label: 'Domains, one on each line',
        hint: 'Such as https://shop.example.com',
        value: domains.join('\n'),
      }),
      submit('Save the domains'),
    ),
  );
}
