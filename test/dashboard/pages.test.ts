import { h } from 'preact';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import type { PageContext } from '../../src/dashboard/context.ts';
import { definePage } from '../../src/dashboard/page.ts';
import { DomainError } from '../../src/domain/index.ts';
import { merchantUser, operatorUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';
import { pageContext, servePages } from './served-pages.ts';

const PREFIX = '/pay-service';

/** Three pages that show what every page does, under a public URL with a path. */
function pagesOf(context: PageContext) {
  return [
    ...definePage(context, 'merchant', 'GET /shop').handledBy(async ({ viewer, actor }) => ({
      view: { title: 'Shop', content: h('p', null, viewer.environment, ' ', actor.name) },
    })),
    ...definePage(context, 'merchant', 'POST /shop/{id}/close', {
      params: z.object({ id: z.string() }),
      body: z.object({ reason: z.string(), 'items[]': z.array(z.string()).default([]) }),
    }).handledBy(async ({ body, params }) => {
      if (body.reason === '') throw new DomainError('BAD_REQUEST', 'The reason must not be blank');
      return {
        seeOther: `/dashboard/sandbox/shop?closed=${params.id}&items=${body['items[]'].join()}`,
      };
    }),
    ...definePage(context, 'operator', 'POST /decide', { permission: 'dispute.decide' }).handledBy(
      async () => ({ seeOther: '/operator' }),
    ),
  ];
}

const test = dashboardTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('person', { scope: 'file' }, ({ service, merchant }) =>
    merchantUser(service.sql, merchant.merchantId, { email: 'asha@shop.example' }),
  )
  .extend('site', { scope: 'file' }, async ({ service }, { onCleanup }) => {
    const context = pageContext(service.sql, {
      publicBaseUrl: `http://shop.example${PREFIX}`,
      pathPrefix: PREFIX,
      readBanners: async (_, environment) => h('p', null, `banner of ${environment}`),
    });
    const server = await servePages(pagesOf(context), context);
    onCleanup(() => server.stop());
    return `http://127.0.0.1:${server.port}`;
  });

describe('the start page', () => {
  test('sends everyone to their own first page', async ({
    service,
    person,
    visitor,
    operators,
  }) => {
    const owner = browserOf(service.origin, person);
    expect((await visitor.get('/dashboard')).location).toBe('/dashboard/login');
    expect((await owner.get('/dashboard')).location).toBe('/dashboard/sandbox');
    expect((await operators.support.get('/dashboard')).location).toBe('/operator');
  });

  test('is no part of the documented API', async ({ visitor }) => {
    const { body } = await visitor.get('/openapi.json');
    expect(body).not.toContain('/dashboard');
  });
});

describe('a page', () => {
  test('shows the merchant, the environment and the way to the other one', async ({
    person,
    site,
  }) => {
    const { status, body, headers } = await browserOf(site, person).get('/dashboard/sandbox/shop');
    expect(status).toBe(200);
    expect(body).toContain('sandbox merchant:asha@shop.example');
    expect(body).toContain('<strong>Sandbox:</strong> no real money moves here.');
    expect(body).toContain(`href="${PREFIX}/dashboard/production/shop"`);
    expect(body).toContain('need attention');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('allows only its own files, by a nonce that is new each time', async ({ person, site }) => {
    const nonces = await Promise.all(
      [1, 2].map(async () => {
        const { body, headers } = await browserOf(site, person).get('/dashboard/sandbox/shop');
        const policy = headers.get('content-security-policy') ?? '';
        const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
        expect(policy).toContain("default-src 'none'");
        expect(policy).toContain("frame-ancestors 'none'");
        expect(body).toContain(`src="/island.js" defer nonce="${nonce}"`);
        expect(body).not.toMatch(/ style=/);
        return nonce;
      }),
    );
    expect(new Set(nonces).size).toBe(2);
  });

  test('asks a person without a session to log in, and names the page to return to', async ({
    site,
  }) => {
    const { status, location } = await browserOf(site).get('/dashboard/sandbox/shop?q=asha');
    expect(status).toBe(303);
    expect(location).toBe(`${PREFIX}/dashboard/login?next=%2Fdashboard%2Fsandbox%2Fshop`);
  });

  test('loads itself again when a link in a mail was followed, which brings no cookie', async ({
    site,
  }) => {
    const fromMail = { 'Sec-Fetch-Site': 'cross-site' };
    const { status, body } = await browserOf(site).get('/dashboard/sandbox/shop', fromMail);
    expect(status).toBe(200);
    expect(body).toContain('http-equiv="refresh" content="0"');
  });
});

describe('a form', () => {
  const path = '/dashboard/sandbox/shop/42/close';

  test('is accepted from a page of the service, with its lists', async ({ person, site }) => {
    const fields = { reason: 'Holidays', 'items[]': ['a', 'b'] };
    const { status, location } = await browserOf(site, person).post(path, fields);
    expect(status).toBe(303);
    expect(location).toBe(`${PREFIX}/dashboard/sandbox/shop?closed=42&items=a,b`);
  });

  test.for<[string, Record<string, string>]>([
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a neighbouring host', { 'Sec-Fetch-Site': 'same-site' }],
    ['an old browser on another site', { 'Sec-Fetch-Site': '', Origin: 'https://evil.example' }],
  ])('from %s is refused', async ([, headers], { person, site }) => {
    const { status } = await browserOf(site, person).post(path, { reason: 'Holidays' }, headers);
    expect(status).toBe(403);
  });

  test('shows a refusal in its own words', async ({ person, site }) => {
    const { status, body } = await browserOf(site, person).post(path, { reason: '' });
    expect(status).toBe(400);
    expect(body).toContain('The reason must not be blank');
    expect(body).toMatch(
      /Reference for support: <code>.+<\/code>\. If it happens again, write to <a href="mailto:help@shop\.example\?subject=.+">help@shop\.example<\/a> with this reference\./,
    );
  });

  test('of an operator needs the permission, and two-factor authentication', async ({
    service,
    site,
  }) => {
    const [support, finance, unfinished] = await Promise.all([
      operatorUser(service.sql, 'support'),
      operatorUser(service.sql, 'finance'),
      operatorUser(service.sql, 'finance', { hasTwoFactor: false }),
    ]);
    const decide = (user: typeof support) => browserOf(site, user).post('/operator/decide');
    const refused = await decide(support);
    expect(refused.status).toBe(403);
    expect(refused.body).toContain('Your role, support, does not allow this');
    expect((await decide(finance)).location).toBe(`${PREFIX}/operator`);
    expect((await decide(unfinished)).location).toBe(`${PREFIX}/operator/account`);
  });
});
