import { z } from 'zod';
import { DomainError } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import {
  createKeyPair,
  findOrigins,
  listKeys,
  rotateSecret,
  setOrigins,
} from '../../merchants/public.ts';
import type { PageContext } from '../context.ts';
import { noticed } from '../noticed.ts';
import { definePage } from '../page.ts';
import type { MerchantViewer } from '../viewer.ts';
import type { SettingsDeps } from './deps.ts';
import { pathOf } from './deps.ts';
import { keysView, newSecretView, rotateKeyView } from './keys-view.ts';
import type { KeysContent } from './keys-view.ts';

/** A merchant's API key in one environment, and the domains that may use it from browsers. */
export function keyPages(context: PageContext, deps: SettingsDeps): Route[] {
  return [
    ...showKeys(context, deps),
    ...generateKey(context, deps),
    ...rotateKey(context, deps),
    ...setDomains(context, deps),
  ];
}

function showKeys(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'GET',
    path: '/keys',
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ viewer, query }) => {
    const content = await readContent(deps, viewer);
    return { view: keysView({ ...content, isSaved: query.done === 'domains' }) };
  });
}

/** The secret is in the answer of the form and nowhere else, so the answer is no redirect. */
function generateKey(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'POST',
    path: '/keys/generate',
    formPath: '/keys',
  }).handledBy(async (request) => {
    const { viewer, actor } = request;
    const { merchantId, environment } = viewer;
    const pair = await noticed(deps, request, { kind: 'key.create' }, (alongside) =>
      createKeyPair({ ...deps, actor, alongside }, merchantId, environment),
    );
    return { view: newSecretView(environment, pair, context.publicBaseUrl) };
  });
}

function rotateKey(context: PageContext, deps: SettingsDeps): Route[] {
  const page = { audience: 'merchant', path: '/keys/rotate', asksFirst: true } as const;
  return [
    ...definePage(context, { ...page, method: 'GET' }).handledBy(async ({ viewer }) => ({
      view: rotateKeyView(viewer.environment),
    })),
    ...definePage(context, { ...page, method: 'POST' }).handledBy(async (request) => {
      const { viewer, actor } = request;
      const { merchantId, environment } = viewer;
      const pair = await noticed(deps, request, { kind: 'key.rotate' }, (alongside) =>
        rotateSecret({ ...deps, actor, alongside }, merchantId, environment),
      );
      return { view: newSecretView(environment, pair, context.publicBaseUrl) };
    }),
  ];
}

function setDomains(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'POST',
    path: '/keys/domains',
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
    return { seeOther: pathOf(environment, '/keys?done=domains') };
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
