import { expect } from 'vitest';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { merchantUser, PASSWORD, signIn } from '../support/users.ts';
import { allPagesTest } from './all-pages.ts';
import { browserOf } from './browsing.ts';
import { refusingServer, writeForm } from './refusing-server.ts';
import { visitorOf } from './visitor.ts';

const test = allPagesTest()
  .extend('person', { scope: 'file' }, ({ service, merchant }) =>
    merchantUser(service.sql, merchant.merchantId),
  )
  // The user of another merchant: each has one.
  .extend('other', { scope: 'file' }, async ({ service }) => {
    const { merchantId } = await service.newMerchant({ webhooks: false });
    return merchantUser(service.sql, merchantId);
  })
  // Each request is one too many.
  .extend('limited', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(refusingServer(service.pages, true), onCleanup),
  )
  // A form that is kept for the person, who has to give the password again.
  .extend('asked', async ({ service, person }, { onCleanup }) => {
    const cookie = await signIn(service.sql, person.userId, { isConfirmed: false });
    const sent = await browserOf(service.origin, { cookie }).post(HOOKS, { url: TYPED });
    expect(sent.location).toContain('/dashboard/confirm?');
    onCleanup(async () => {
      await service.sql`DELETE FROM kept_forms`;
    });
    return { cookie };
  });

const HOOKS = '/dashboard/production/webhooks';
const TYPED = 'https://1.1.1.1/typed-by-asha';
const OTHER_SITES = ['cross-site', 'same-site', 'none'];

test('a form of another site has no button to send it again, and one of this site has', async ({
  limited,
  person,
}) => {
  const { cookie } = person;
  const form = { path: HOOKS, cookie, type: 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ url: TYPED }).toString();
  for (const site of ['same-origin', ...OTHER_SITES]) {
    const page = await writeForm(limited.port, { ...form, body, site });
    const hasButton = page.body.includes('Send it again');
    expect([site, page.status, hasButton]).toEqual([site, 429, site === 'same-origin']);
    expect(page.body).toContain(TYPED);
  }
});

test('a form of another site is neither carried out nor kept, nor shows what is kept', async ({
  service,
  person,
  asked,
}) => {
  const rows = () => service.sql`SELECT holder, path, content_sealed FROM kept_forms`;
  const before = await rows();
  expect(before).toHaveLength(1);
  for (const site of OTHER_SITES) {
    for (const cookie of [asked.cookie, person.cookie, '']) {
      const forged = { url: 'https://1.1.1.1/forged' };
      const browser = browserOf(service.origin, { cookie });
      const { status, body } = await browser.post(HOOKS, forged, { 'Sec-Fetch-Site': site });
      expect([status, body.includes(TYPED)]).toEqual([403, false]);
    }
  }
  expect(await rows()).toEqual(before);
  const saved = await service.sql`
    SELECT FROM merchant_environments WHERE webhook_url LIKE '%forged' OR webhook_url = ${TYPED}`;
  expect(saved).toEqual([]);
});

test('what is kept is shown to the user who typed it, until it is carried out', async ({
  service,
  other,
  asked,
}) => {
  expect((await browserOf(service.origin, other).get(HOOKS)).body).not.toContain(TYPED);
  const owner = browserOf(service.origin, asked);
  expect((await owner.get(HOOKS)).body).toContain(TYPED);
  expect((await owner.get('/dashboard/sandbox/webhooks')).body).not.toContain(TYPED);
  await owner.post('/dashboard/confirm', { password: PASSWORD, next: HOOKS });
  expect((await owner.post(HOOKS, { url: 'https://1.1.1.1/saved' })).status).toBe(200);
  expect((await owner.get(HOOKS)).body).not.toContain('Nothing was done yet');
  expect(await service.sql`SELECT FROM kept_forms`).toEqual([]);
});

test('what is kept is not shown after its hour', async ({ service, asked }) => {
  await service.sql`UPDATE kept_forms SET expires_at = service_now() - interval '1 second'`;
  const { body } = await browserOf(service.origin, asked).get(HOOKS);
  expect(body).not.toContain(TYPED);
  expect(body).not.toContain('Nothing was done yet');
});

test('a row that was given to another user or another page is not opened', async ({
  service,
  other,
  asked,
}) => {
  await service.sql`UPDATE kept_forms SET path = '/dashboard/sandbox/webhooks'`;
  const moved = await browserOf(service.origin, asked).get('/dashboard/sandbox/webhooks');
  expect([moved.status, moved.body.includes(TYPED)]).toEqual([200, false]);
  await service.sql`UPDATE kept_forms SET path = ${HOOKS}, holder = ${`user:${other.userId}`}`;
  const given = await browserOf(service.origin, other).get(HOOKS);
  expect([given.status, given.body.includes(TYPED)]).toEqual([200, false]);
});

test('of a session that has ended, the next user of the browser sees nothing', async ({
  service,
  other,
  person,
}) => {
  await service.sql`
    UPDATE dashboard_sessions SET last_seen_at = last_seen_at - interval '20 days'
    WHERE user_id = ${person.userId}`;
  const browser = visitorOf(service.origin, person);
  const sent = await browser.post(HOOKS, { url: TYPED });
  expect((await browser.get(sent.location ?? '')).body).toContain('nothing was done');
  const logIn = (email: string) =>
    browser.post('/dashboard/login', { email, password: PASSWORD, next: HOOKS });
  expect((await browser.follow(await logIn(other.email))).body).not.toContain(TYPED);
  await browser.post('/dashboard/logout');
  expect((await browser.follow(await logIn(person.email))).body).toContain(TYPED);
});

test('a button and a file that nobody is logged in for lead to a log-in that says that nothing was done', async ({
  service,
}) => {
  const browser = browserOf(service.origin);
  const file = new FormData();
  file.set('file', new File(['%PDF-1.7'], 'pan.pdf', { type: 'application/pdf' }));
  const sent = [
    await browser.post('/dashboard/production/webhooks/rotate-secret', {}),
    await browser.upload('/dashboard/production/onboarding/documents', file),
  ];
  for (const { location } of sent) {
    expect(location).toContain('/dashboard/login?next=');
    const { body } = await browser.get(location ?? '');
    expect(body).toContain('nothing was done. Log in, and do it again.');
  }
});

test('a file that is one request too many is not offered to be sent again without itself', async ({
  limited,
  person,
}) => {
  const path = '/dashboard/production/onboarding/documents';
  const type = 'multipart/form-data; boundary=x-x';
  const body =
    '--x-x\r\nContent-Disposition: form-data; name="kind"\r\n\r\npan_card\r\n--x-x--\r\n';
  const page = await writeForm(limited.port, { path, cookie: person.cookie, type, body });
  expect(page.status).toBe(429);
  expect(page.body).not.toContain('Send it again');
});

test('a form of an order that is not there says that nothing was done', async ({
  service,
  person,
}) => {
  const order = 'ORD01AAAAAAAAAAAAAAAAAAAAAAAA';
  const path = `/dashboard/sandbox/orders/${order}/refundOrder`;
  const reason = 'It is sold out';
  const cookie = await signIn(service.sql, person.userId);
  const browser = browserOf(service.origin, { cookie });
  const { status, body } = await browser.post(path, { [`${order}-refundOrder-reason`]: reason });
  expect(status).toBe(404);
  expect(body).toContain('Nothing was done.');
  expect(body).toContain(reason);
});
