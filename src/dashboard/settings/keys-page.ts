import { h } from 'preact';
import { z } from 'zod';
import type { Environment } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import type { ListedKey, MerchantStatus } from '../../merchants/public.ts';
import {
  createKeyPair,
  findOrigins,
  listKeys,
  rotateSecret,
  setOrigins,
} from '../../merchants/public.ts';
import type { PageContext } from '../context.ts';
import { noticed } from '../context.ts';
import { definePage } from '../page.ts';
import type { FormState } from '../view/fields.ts';
import { submit, textArea } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { facts, moment, notice, section, setting } from '../view/parts.ts';
import { copyable } from '../view/texts.ts';
import { form, link } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { pathOf } from '../viewer.ts';
import type { SettingsDeps } from './parts.ts';
import { IN_ENVIRONMENT } from './parts.ts';
import { MONEY, newSecretView } from './questions.ts';

/** A merchant's API key in one environment, and the domains that may use it from browsers. */
export const keyPages = [showKeys, generateKey, rotateKey, setDomains];

function showKeys(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, 'merchant', 'GET /keys', {
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ viewer, query }) => {
    const content = await readContent(deps, viewer);
    return { view: keysView({ ...content, isSaved: query.done === 'domains' }) };
  });
}

/** The secret is in the answer of the form and nowhere else, so the answer is no redirect. */
function generateKey(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, 'merchant', 'POST /keys/generate', { formPath: '/keys' }).handledBy(
    async (request) => {
      const { viewer, actor } = request;
      const { merchantId, environment } = viewer;
      const pair = await noticed(deps, request, { kind: 'key.create' }, (alongside) =>
        createKeyPair({ ...deps, actor, alongside }, merchantId, environment),
      );
      return { view: newSecretView(environment, pair, context.publicBaseUrl) };
    },
  );
}

function rotateKey(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, 'merchant', 'POST /keys/rotate').handledBy(async (request) => {
    const { viewer, actor } = request;
    const { merchantId, environment } = viewer;
    const pair = await noticed(deps, request, { kind: 'key.rotate' }, (alongside) =>
      rotateSecret({ ...deps, actor, alongside }, merchantId, environment),
    );
    return { view: newSecretView(environment, pair, context.publicBaseUrl) };
  });
}

function setDomains(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, 'merchant', 'POST /keys/domains', {
    formPath: '/keys',
    body: z.object({ domains: z.string().max(20_000).default('') }),
  }).handledBy(async (request) => {
    const { viewer, body, actor } = request;
    const { merchantId, environment } = viewer;
    const domains = body.domains.split(/[\s,]+/).filter((domain) => domain !== '');
    try {
      await noticed(deps, request, { kind: 'domains.set' }, (alongside) =>
        setOrigins({ sql: deps.sql, actor, alongside }, merchantId, environment, domains),
      );
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'BAD_REQUEST') throw error;
      const content = await readContent(deps, viewer);
      const typed = { values: body, violations: { domains: error.message } };
      return { status: 400, view: keysView({ ...content, typed }) };
    }
    return { seeOther: pathOf({ environment }, '/keys?done=domains') };
  });
}

async function readContent({ sql }: SettingsDeps, viewer: MerchantViewer): Promise<KeysContent> {
  const { merchantId, environment, merchantStatus } = viewer;
  const [keys, domains] = await Promise.all([
    listKeys(sql, merchantId),
    findOrigins(sql, merchantId, environment),
  ]);
  const key = keys.find((one) => one.environment === environment);
  return { environment, merchantStatus, key, domains };
}

/** What the page of keys shows. */
interface KeysContent {
  environment: Environment;
  merchantStatus: MerchantStatus;
  key: ListedKey | undefined;
  domains: readonly string[];
  isSaved?: boolean;
  /** A form with domains that was refused. */
  typed?: FormState;
}

/** The page of keys. */
function keysView(content: KeysContent): View {
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

function domainsSection({ environment, domains, typed }: KeysContent) {
  const state = typed ?? { values: { domains: domains.join('\n') } };
  return setting(
    'domains-title',
    'Approved domains',
    'A request from a browser is refused with 403 unless its site is in this list. Requests of your ' +
      'server are never refused for it. An empty list allows every site.',
    form(
      pathOf({ environment }, '/keys/domains'),
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
