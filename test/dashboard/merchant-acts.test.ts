import { expect } from 'vitest';
import type { MerchantActPath } from '../../src/dashboard/merchant-acts.ts';
import {
  actPathOf,
  assertActsHaveRules,
  MERCHANT_ACTS,
} from '../../src/dashboard/merchant-acts.ts';
import { AN_ACCOUNT } from '../support/applications.ts';
import { mailsTo } from '../support/mails.ts';
import type { TestService } from '../support/service.ts';
import { codeOf, merchantUser, PASSWORD, signIn, TOTP_SECRET } from '../support/users.ts';
import { allPagesTest } from './all-pages.ts';
import type { FormFields } from './browsing.ts';
import { browserOf } from './browsing.ts';

const test = allPagesTest();

const PATHS = Object.keys(MERCHANT_ACTS) as MerchantActPath[];
const ASKING = PATHS.filter(
  (path) => !['never', 'in_form'].includes(MERCHANT_ACTS[path].asksAgain),
);

test("every form of merchants' users is in the table of acts, and the table has no other", ({
  service,
}) => {
  const forms = service.pages
    .filter(({ method, path }) => method === 'POST' && !path.startsWith('/operator/'))
    .map(({ path }) => actPathOf(path));
  expect([...new Set(forms)].toSorted()).toEqual(PATHS.toSorted());
});

test('the dashboard does not start with a form that is not in the table of acts', () => {
  const form = (path: `/${string}`) => ({ method: 'POST', path }) as const;
  const known = [form('/dashboard/production/keys/rotate'), form('/operator/alerts/{alert}/clear')];
  expect(() => assertActsHaveRules(known)).not.toThrow();
  for (const path of ['/dashboard/production/keys/delete', '/dashboard/delete'] as const) {
    expect(() => assertActsHaveRules([...known, form(path)])).toThrow(
      `MERCHANT_ACTS has no rule for the form ${path}`,
    );
  }
});

test('with a stolen session, exactly the acts that ask again in production are not done', async ({
  service,
  pages,
  merchant,
}) => {
  await service.sql`UPDATE orders SET environment = 'production', amount_paise = 500001`;
  const { userId } = await merchantUser(service.sql, merchant.merchantId);
  const asked: string[] = [];
  const forms = pages.filter(
    ({ route: { method, path } }) => method === 'POST' && path.startsWith('/dashboard/production/'),
  );
  for (const { route, url } of forms) {
    const cookie = await signIn(service.sql, userId, { isConfirmed: false });
    const stolen = browserOf(service.origin, { cookie });
    const { location } =
      route.bodyType === 'multipart'
        ? await stolen.upload(url, new FormData())
        : await stolen.post(url);
    if (location?.startsWith('/dashboard/confirm?') === true) asked.push(actPathOf(route.path));
  }
  expect(asked.toSorted()).toEqual(ASKING.toSorted());
});

/** A merchant and its user with a second factor; both have the same e-mail address. */
async function aShop({ sql, newMerchant }: TestService) {
  const { merchantId } = await newMerchant({ webhooks: false });
  const email = `${merchantId.toLowerCase()}@shop.example`;
  await sql`UPDATE merchants SET email = ${email} WHERE merchant_id = ${merchantId}`;
  const user = await merchantUser(sql, merchantId, { email, hasTwoFactor: true });
  return { merchantId, email, user };
}

const AT = '/dashboard/production';
const HOOK = 'https://1.1.1.1/hooks';

test.for<[path: MerchantActPath, fields: FormFields, subject: string]>([
  [
    '/keys/domains',
    { domains: 'shop.example' },
    'Your approved domains for production were changed',
  ],
  ['/webhooks', { url: `${HOOK}/2` }, 'Your production webhook URL was changed'],
  ['/webhooks/rotate-secret', {}, 'Your production webhook secret was replaced'],
  ['/webhooks/remove', {}, 'Your production webhook URL was removed'],
  ['/account/mails', {}, 'Your choice of mails was changed'],
  ['/onboarding/bank', AN_ACCOUNT, 'The bank account of your application was saved'],
])('the merchant gets a mail about %s', async ([path, fields, subject], { service }) => {
  const { merchantId, email, user } = await aShop(service);
  const owner = browserOf(service.origin, user);
  await owner.post(`${AT}/webhooks`, { url: HOOK });
  await service.sql`UPDATE merchants SET status = 'REJECTED' WHERE merchant_id = ${merchantId}`;
  const before = (await mailsTo(service.sql, email)).length;
  expect((await owner.post(AT + path, fields)).status).toBeLessThan(400);
  const [mail, ...others] = (await mailsTo(service.sql, email)).slice(before);
  expect(mail?.subject).toBe(subject);
  expect(mail?.text).toContain(`${email} has `);
  expect(others).toEqual([]);
});

test('the user gets a mail about the end of a session, and none about logging out', async ({
  service,
}) => {
  const { email, user } = await aShop(service);
  const owner = browserOf(service.origin, user);
  await signIn(service.sql, user.userId);
  const end = () => owner.post(`${AT}/account/sessions/end-others`);
  const texts = async () => (await mailsTo(service.sql, email)).map(({ text }) => text);
  expect((await end()).status).toBe(303);
  expect((await end()).status).toBe(303);
  expect(await texts()).toEqual([expect.stringContaining('A session of your account was ended')]);
  expect((await owner.post('/dashboard/logout')).status).toBe(303);
  expect(await texts()).toHaveLength(1);
});

test('whoever has a second factor needs it to change the password', async ({ service }) => {
  const { user } = await aShop(service);
  const owner = browserOf(service.origin, user);
  const page = `${AT}/account/password`;
  expect((await owner.get(page)).body).toContain('name="code"');
  const fields = { password: PASSWORD, newPassword: 'eleven purple umbrellas' };
  const without = await owner.post(page, fields);
  expect(without.status).toBe(400);
  expect(without.body).toContain('The code is wrong');
  const changed = await owner.post(page, { ...fields, code: codeOf(TOTP_SECRET) });
  expect(changed.location).toBe(`${AT}/account?done=password`);
});
