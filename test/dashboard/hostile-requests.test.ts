import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { h } from 'preact';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { SESSION_COOKIE } from '../../src/accounts/public.ts';
import type { PageContext } from '../../src/dashboard/context.ts';
import { definePage } from '../../src/dashboard/page.ts';
import { merchantUser, operatorUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';
import { pageContext, servePages } from './served-pages.ts';

const ORIGIN = 'http://shop.example';

/** A text without an end, written as long as it is read. */
async function* endless() {
  for (;;) yield 'x'.repeat(100_000);
}

/** A page, a form that goes where it is told to, a form with a file, and a file without an end. */
function pagesOf(context: PageContext) {
  return [
    ...definePage(context, 'merchant', 'GET /shop').handledBy(async ({ viewer }) => ({
      view: { title: 'Shop', content: h('p', null, viewer.user.email) },
    })),
    ...definePage(context, 'merchant', 'POST /go', {
      body: z.object({ next: z.string() }),
    }).handledBy(async ({ body, ...rest }) => {
      expect(Object.keys(body)).toEqual(['next']);
      expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
      expect(rest).not.toHaveProperty('isAdmin');
      return { seeOther: body.next };
    }),
    ...definePage(context, 'merchant', 'POST /file', {
      bodyType: 'multipart',
      body: z.object({ file: z.instanceof(File) }),
    }).handledBy(async ({ body }) => ({ seeOther: `/dashboard?size=${body.file.size}` })),
    ...definePage(context, 'merchant', 'GET /endless').handledBy(async () => ({
      file: Readable.from(endless()),
      contentType: 'text/csv',
      headers: { 'Content-Disposition': 'attachment' },
    })),
  ];
}

const test = dashboardTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('person', { scope: 'file' }, ({ service, merchant }) =>
    merchantUser(service.sql, merchant.merchantId),
  )
  .extend('port', { scope: 'file' }, async ({ service }, { onCleanup }) => {
    const context = pageContext(service.sql, { publicBaseUrl: ORIGIN });
    const server = await servePages(pagesOf(context), context);
    onCleanup(() => server.stop());
    return server.port;
  })
  .extend('site', { scope: 'file' }, ({ port }) => `http://127.0.0.1:${port}`);

const SHOP = '/dashboard/sandbox/shop';
const GO = '/dashboard/sandbox/go';

describe('a session', () => {
  test.for([
    '\u00A0__Host-session',
    '\uFEFF__Host-session',
    '\u2003__Host-session',
    '__host-session',
    '$Version=1; \u00A0__Host-session',
    'x__Host-session',
    'session',
  ])(
    'is in the cookie whose name browsers protect, and not in %j',
    async (name, { person, site }) => {
      const token = person.cookie.slice(SESSION_COOKIE.length + 1);
      // Browsers send the bytes of a cookie's name; Node reads them as Latin-1.
      const bytes = Buffer.from(`${name}=${token}`).toString('latin1');
      for (const Cookie of [bytes, `a=b; ${bytes}`, `${name.replace('\u00A0', '\xA0')}=${token}`]) {
        if (/[^\0-\xFF]/.test(Cookie)) continue;
        const { status, location } = await browserOf(site).get(SHOP, { Cookie });
        expect([status, location]).toEqual([303, expect.stringContaining('/dashboard/login')]);
      }
      expect((await browserOf(site, person).get(SHOP)).status).toBe(200);
    },
  );

  test('becomes idle while the script of an open page asks whether it has changed', async ({
    service,
    person,
    site,
  }) => {
    const { sql } = service;
    const { userId } = person;
    const seenSecondsAgo = async () => {
      const [row] = await sql<[{ seconds: number }]>`
        SELECT extract(epoch FROM service_now() - last_seen_at)::int AS seconds
        FROM dashboard_sessions WHERE user_id = ${userId}`;
      return row.seconds;
    };
    await sql`UPDATE dashboard_sessions SET last_seen_at = last_seen_at - interval '1 hour'
      WHERE user_id = ${userId}`;
    const browser = browserOf(site, person);
    expect((await browser.get(SHOP, { 'Sec-Fetch-Dest': 'empty' })).status).toBe(200);
    expect(await seenSecondsAgo()).toBeGreaterThanOrEqual(3600);
    expect((await browser.get(SHOP, { 'Sec-Fetch-Dest': 'document' })).status).toBe(200);
    expect(await seenSecondsAgo()).toBeLessThan(3600);
  });

  test('is not read from the URL, a form or another header', async ({ person, site }) => {
    const token = person.cookie.slice(SESSION_COOKIE.length + 1);
    const visitor = browserOf(site);
    for (const { status, location } of [
      await visitor.get(`${SHOP}?${SESSION_COOKIE}=${token}`),
      await visitor.get(SHOP, { Authorization: `Bearer ${token}` }),
      await visitor.get(SHOP, { 'X-Forwarded-User': person.email }),
      await visitor.post(GO, { next: SHOP, [SESSION_COOKIE]: token }),
    ]) {
      expect([status, location]).toEqual([303, expect.stringContaining('/dashboard/login')]);
    }
  });
});

describe('a redirect', () => {
  test.for([
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '\\\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '.evil.example',
    '@evil.example',
    ':1@evil.example',
    '',
    '/\u00A0',
    '/a\r\nSet-Cookie: a=b',
    '/a\nLocation: //evil.example',
  ])('stays on this site: %j is refused', async (next, { person, site }) => {
    const { status, location, headers } = await browserOf(site, person).post(GO, { next });
    expect([status, location, headers.get('set-cookie')]).toEqual([500, null, null]);
  });

  test('follows a path of this site', async ({ person, site }) => {
    const next = '/dashboard/sandbox/orders?q=%E2%82%B9&a=//b';
    expect((await browserOf(site, person).post(GO, { next })).location).toBe(next);
  });
});

describe('a form', () => {
  test('is no longer a change when it is sent by another method or with another media type', async ({
    person,
    site,
  }) => {
    const browser = browserOf(site, person);
    expect((await browser.get(`${GO}?next=/dashboard`)).status).toBe(405);
    const override = { 'X-HTTP-Method-Override': 'POST', 'X-HTTP-Method': 'POST' };
    expect((await browser.get(`${GO}?_method=POST&next=/dashboard`, override)).status).toBe(405);
    for (const type of ['text/plain', 'application/json', 'multipart/form-data; boundary=x', '']) {
      const headers = { 'Content-Type': type };
      expect((await browser.post(GO, { next: '/dashboard' }, headers)).status).toBe(400);
    }
  });

  test.for<[string, Record<string, string>]>([
    ['a page opened from a file or in a sandbox', { 'Sec-Fetch-Site': '', Origin: 'null' }],
    ['a client that names no origin', { 'Sec-Fetch-Site': '' }],
    ['the address bar', { 'Sec-Fetch-Site': 'none' }],
    ['a host whose name begins the same', { 'Sec-Fetch-Site': '', Origin: `${ORIGIN}.evil.test` }],
    ['another port', { 'Sec-Fetch-Site': '', Origin: `${ORIGIN}:8080` }],
    ['another scheme', { 'Sec-Fetch-Site': '', Origin: ORIGIN.replace('http', 'https') }],
    ['a site that names two', { 'Sec-Fetch-Site': 'same-origin, cross-site' }],
  ])('from %s is refused', async ([, headers], { person, site }) => {
    const answer = await browserOf(site, person).post(GO, { next: '/dashboard' }, headers);
    expect([answer.status, answer.location]).toEqual([403, null]);
  });

  test('has only its declared fields, and changes no prototype', async ({ person, site }) => {
    const fields = {
      next: '/dashboard',
      __proto__: 'x',
      ['__proto__[isAdmin]']: 'true',
      'constructor[prototype][isAdmin]': 'true',
      constructor: 'x',
      isAdmin: 'true',
      merchantId: 'mer_other',
      'next[]': ['//evil.example'],
    };
    const entries = [...Object.entries(fields), ['__proto__', 'x'] as const];
    const { location } = await browserOf(site, person).post(GO, Object.fromEntries(entries));
    expect(location).toBe('/dashboard');
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
  });
});

/** Sends the head of an upload of 5 MB and none of its body. */
async function answerWithoutBody(port: number, headers: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const head = [
    'POST /dashboard/sandbox/file HTTP/1.1',
    'Host: shop.example',
    'Content-Type: multipart/form-data; boundary=x',
    'Content-Length: 5000000',
    ...headers,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return chunk.toString('latin1');
}

describe('a file', () => {
  test('of somebody without a session, from another site, or of the other kind of user is not read', async ({
    person,
    port,
    service,
  }) => {
    const own = 'Sec-Fetch-Site: same-origin';
    const withoutSession = await answerWithoutBody(port, [own]);
    expect(withoutSession).toContain('HTTP/1.1 303');
    expect(withoutSession).toContain('Location: /dashboard/login');
    const foreign = ['Sec-Fetch-Site: cross-site', `Cookie: ${person.cookie}`];
    expect(await answerWithoutBody(port, foreign)).toContain('HTTP/1.1 403');
    const operator = await operatorUser(service.sql, 'admin');
    expect(await answerWithoutBody(port, [own, `Cookie: ${operator.cookie}`])).toContain(
      'HTTP/1.1 404',
    );
  });

  test('is written for two readers of a user at the same time, who may be slow', async ({
    person,
    site,
  }) => {
    const read = () =>
      fetch(`${site}/dashboard/sandbox/endless`, { headers: { Cookie: person.cookie } });
    const [first, second] = [await read(), await read()];
    expect([first.status, second.status]).toEqual([200, 200]);
    const refused = await read();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
    expect(await refused.text()).toContain('Too many requests for files at the same time');
    await first.body?.cancel();
    await expect
      .poll(async () => {
        const next = await read();
        await next.body?.cancel();
        return next.status;
      })
      .toBe(200);
    await second.body?.cancel();
  });

  test('of a merchant is read', async ({ person, site }) => {
    const form = new FormData();
    form.set('file', new File(['%PDF-1.7'], 'pan.pdf'));
    const { location } = await browserOf(site, person).upload('/dashboard/sandbox/file', form);
    expect(location).toBe('/dashboard?size=8');
  });
});
