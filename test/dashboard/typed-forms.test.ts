import { describe, expect } from 'vitest';
import { ordersOf } from '../support/orders.ts';
import { merchantUser, operatorUser, PASSWORD, signIn } from '../support/users.ts';
import { z } from 'zod';
import type { Route } from '../../src/http/define-route.ts';
import { allPagesTest } from './all-pages.ts';
import { browserOf } from './browsing.ts';
import { visitorOf } from './visitor.ts';

const test = allPagesTest().extend('person', { scope: 'file' }, ({ service, merchant }) =>
  merchantUser(service.sql, merchant.merchantId),
);

const URL_TYPED = 'https://1.1.1.1/typed-hooks';
const HOOKS = '/dashboard/production/webhooks';

describe('what was typed is not lost', () => {
  test('while the password is asked for again, and nothing is done before the button is pressed', async ({
    service,
    merchant,
    person,
  }) => {
    const { userId } = person;
    const cookie = await signIn(service.sql, userId, { isConfirmed: false });
    const browser = browserOf(service.origin, { cookie });
    const asked = await browser.post(HOOKS, { url: URL_TYPED });
    expect((await browser.get(asked.location!)).body).toContain('Nothing was done yet');
    const confirmed = await browser.post('/dashboard/confirm', { password: PASSWORD, next: HOOKS });
    const again = await browser.get(confirmed.location!);
    expect(again.body).toContain(`value="${URL_TYPED}"`);
    expect(again.body).toContain('Nothing was done yet');
    const [before] = await service.sql`
      SELECT webhook_url FROM merchant_environments
      WHERE merchant_id = ${merchant.merchantId} AND environment = 'production'`;
    expect(before?.['webhookUrl']).not.toBe(URL_TYPED);
    expect((await browser.post(HOOKS, { url: URL_TYPED })).body).not.toContain('Nothing was done');
    expect((await browser.get(HOOKS)).body).not.toContain('Nothing was done yet');
    expect(await service.sql`SELECT path FROM kept_forms`).toEqual([]);
  });

  test('by a log-out meanwhile', async ({ service, person }) => {
    const user = { ...person, cookie: await signIn(service.sql, person.userId) };
    for (const cookie of [user.cookie, undefined]) {
      await service.sql`UPDATE dashboard_sessions SET last_seen_at = last_seen_at - interval '20 days'`;
      const browser = visitorOf(service.origin, cookie === undefined ? undefined : { cookie });
      const sent = await browser.post('/dashboard/sandbox/webhooks', {
        url: 'https://1.1.1.1/Asha',
      });
      const logIn = await browser.get(sent.location!);
      expect(logIn.body).toContain('nothing was done');
      const next = '/dashboard/sandbox/webhooks';
      expect(logIn.body).toContain(next);
      const done = await browser.post('/dashboard/login', {
        email: user.email,
        password: PASSWORD,
        next,
      });
      expect(done.location).toBe(next);
      const kept = await service.sql<
        { contentSealed: Buffer }[]
      >`SELECT content_sealed FROM kept_forms`;
      expect(kept.map(({ contentSealed }) => contentSealed.includes('Asha'))).toEqual([false]);
      expect((await browser.follow(done)).body).toContain('https://1.1.1.1/Asha');
      await service.sql`DELETE FROM kept_forms`;
    }
  });

  test('by a state that does not allow it', async ({ service, merchant, operators }) => {
    const { orderNumber } = await ordersOf(service, merchant).in('ACCEPTED');
    const path = `/operator/orders/${orderNumber}/dispute`;
    const reason = '\nIt never arrived.\nन मिला';
    const { status, body } = await operators.admin.post(path, { reason });
    expect(status).toBe(400);
    // The first line break of a field is left out by browsers.
    expect(body).toContain(`>\n${reason}</textarea>`);
  });

  test('by a refusal that its form does not show: the form is in its page again', async ({
    service,
  }) => {
    const admin = await operatorUser(service.sql, 'admin');
    const browser = browserOf(service.origin, admin);
    const { userId } = admin;
    const { status, body } = await browser.post(`/operator/operators/${userId}/disable`, {
      disableReason: 'She has left',
    });
    expect([status, body.includes('She has left')]).toEqual([400, true]);
    expect(body).toContain('Nothing was done.');
  });

  test('by another origin: the text is shown, and no form sends it', async ({
    service,
    person,
  }) => {
    const cookie = await signIn(service.sql, person.userId);
    const owner = browserOf(service.origin, { cookie });
    const headers = { 'Sec-Fetch-Site': 'cross-site' };
    const { status, body } = await owner.post(
      '/dashboard/sandbox/webhooks',
      { url: URL_TYPED },
      headers,
    );
    expect([status, body.includes(URL_TYPED)]).toEqual([403, true]);
    expect(body).not.toContain('Send it again');
  });

  test('by the size of its file: the choice comes back', async ({ service, person }) => {
    const cookie = await signIn(service.sql, person.userId);
    const owner = browserOf(service.origin, { cookie });
    const form = new FormData();
    form.set('kind', 'identity');
    form.set('file', new File([new Uint8Array(5 * 1024 * 1024 + 70_000)], 'a.pdf'));
    const { status, body } = await owner.upload('/dashboard/sandbox/onboarding/documents', form);
    expect([status, body.includes('identity')]).toEqual([413, true]);
    expect(body).toContain('Nothing was done.');
  });

  test('passwords and codes are never kept', async ({ service, visitor }) => {
    const secrets = {
      password: 'a-secret',
      newPassword: 'a-secret',
      code: 'a-secret',
      'codes-code': 'a-secret',
    };
    await visitor.post('/operator/account/two-factor/off', { ...secrets, pinCode: '560001' });
    await visitor.post('/dashboard/sandbox/account/password', secrets);
    const kept = await service.sql`SELECT path FROM kept_forms WHERE path LIKE '%account%'`;
    expect(kept.length).toBeLessThanOrEqual(1);
    const { body } = await visitor.post('/dashboard/sandbox/account/password', secrets, {
      'Sec-Fetch-Site': 'cross-site',
    });
    expect(body).not.toContain('a-secret');
  });
});

/** The names of a form's fields that are no secrets, lists or files. */
function namesOf({ body }: Route): string[] {
  const shape = body instanceof z.ZodObject ? Object.keys(body.shape) : [];
  return shape.filter(
    (name) =>
      !/password$|^(codes-)?code$|^(file|confirmed|sessionId|version|event|mails)$|\[\]$/i.test(
        name,
      ),
  );
}

test('of every form, what was typed comes back after a log-in, and after each refusal', async ({
  service,
  person,
  pages,
}) => {
  const owner = { cookie: await signIn(service.sql, person.userId) };
  const admin = await operatorUser(service.sql, 'admin');
  const forms = pages.filter(
    ({ route: { method, body }, kind }) => method === 'POST' && body && kind !== 'anyone',
  );
  expect(forms.length).toBeGreaterThan(30);
  const lost: string[] = [];
  for (const { route, url, name, kind } of forms) {
    const names = namesOf(route);
    if (names.length === 0) continue;
    const fields = Object.fromEntries(names.map((one) => [one, `typed-in-${one}`]));
    const isThere = (html: string) => names.some((one) => html.includes(`typed-in-${one}`));
    const stranger = visitorOf(service.origin);
    const isUpload = route.bodyType === 'multipart';
    const { location } = isUpload
      ? await browserOf(service.origin).upload(url, formDataOf(fields))
      : await stranger.post(url, fields);
    const next = new URL(location ?? '/', service.origin).searchParams.get('next') ?? '/';
    const { cookie } = kind === 'merchant' ? owner : admin;
    const page = await browserOf(service.origin, {
      cookie: `${cookie}; ${stranger.cookie()}`,
    }).get(next);
    if (!isUpload && !(page.status === 200 && isThere(page.body)))
      lost.push(`${name} → ${next} ${page.status}`);
    if (!isUpload) {
      const foreign = await browserOf(service.origin, { cookie }).post(url, fields, {
        'Sec-Fetch-Site': 'cross-site',
      });
      const isHidden = names.every((one) => ['version', 'idempotencyKey', 'next'].includes(one));
      if (!isHidden && !isThere(foreign.body)) lost.push(`${name}: origin`);
      const { status, body } = await browserOf(service.origin, { cookie }).post(url, fields);
      const isSaid = /role="alert"|class="violation"/.test(body) && isThere(body);
      if (status >= 400 && !isHidden && !isSaid) lost.push(`${name}: ${status}`);
    }
  }
  // The page of these has no form for an approved merchant, or the form has boxes or nothing to type in: `disable` asks for a reason only of the last admin.
  const others = /onboarding\/(business|bank)|account\/mails|\/recover |\/disable /;
  expect(lost.filter((one) => !others.test(one))).toEqual([]);
});

function formDataOf(fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}
