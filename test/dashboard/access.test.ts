import { ulid } from 'ulid';
import { expect } from 'vitest';
import type { OperatorAction, OperatorRole } from '../../src/accounts/public.ts';
import { rolesFor } from '../../src/accounts/people/permissions.ts';
import type { Route } from '../../src/http/define-route.ts';
import type { TestUser } from '../support/users.ts';
import { merchantUser, operatorUser, signIn } from '../support/users.ts';
import { allPagesTest, BUYER } from './all-pages.ts';
import { browserOf } from './browsing.ts';

const ROLES = ['support', 'finance', 'admin'] as const satisfies OperatorRole[];

/** What each form of the operators needs; a form that is missing here fails the test. */
const FORM_PERMISSIONS: Readonly<Record<string, OperatorAction | 'own account'>> = {
  '/operator/orders/{order}/retry': 'order.retry',
  '/operator/orders/{order}/recover': 'order.recover',
  '/operator/orders/{order}/dispute': 'dispute.raise',
  '/operator/orders/{order}/decide': 'dispute.decide',
  '/operator/orders/{order}/refund': 'order.refund',
  '/operator/orders/{order}/settle': 'order.settle',
  '/operator/orders/{order}/deliveries/{delivery}/retry': 'delivery.retry',
  '/operator/alerts/{alert}/clear': 'alert.clear',
  '/operator/merchants/{merchant}/linked-account': 'merchant.linkedAccount',
  '/operator/merchants/{merchant}/account-number': 'accountNumber.read',
  '/operator/merchants/{merchant}/decision': 'merchant.review',
  '/operator/operators/invite': 'operator.create',
  '/operator/operators/{id}/role': 'operator.role',
  '/operator/operators/{id}/disable': 'operator.disable',
  '/operator/operators/{id}/reset-two-factor': 'operator.reset',
  // The kind of the proposal decides who may.
  '/operator/proposals/{proposal}/approve': 'merchant.linkedAccount',
  '/operator/proposals/{proposal}/reject': 'merchant.linkedAccount',
  '/operator/proposals/{proposal}/withdraw': 'read',
};

const test = allPagesTest()
  .extend('stranger', { scope: 'file' }, async ({ service }) => {
    const other = await service.newMerchant({ webhooks: false });
    // Its application may be changed, so that forms about documents look for the document.
    await service.sql`
      UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${other.merchantId}`;
    return merchantUser(service.sql, other.merchantId);
  })
  /** Requests a page with a session of its own: a page may end the session. */
  .extend('request', ({ service }) => {
    return async (page: { route: Route; url: string }, user?: TestUser) => {
      const session = user && { cookie: await signIn(service.sql, user.userId) };
      const browser = browserOf(service.origin, session);
      if (page.route.method === 'GET') return browser.get(page.url);
      if (page.route.bodyType === 'multipart') return browser.upload(page.url, new FormData());
      return browser.post(page.url);
    };
  });

test('every parameter of every page is filled with an object of the merchant', ({ pages }) => {
  expect(pages.length).toBeGreaterThan(100);
  expect(pages.filter(({ url }) => url.includes('{')).map(({ name }) => name)).toEqual([]);
});

test('a visitor is sent to the login by every page of a merchant and of an operator', async ({
  pages,
  request,
}) => {
  for (const page of pages.filter(({ kind }) => kind !== 'anyone')) {
    const { status, location } = await request(page);
    expect([page.name, status, location?.split('?')[0]]).toEqual([
      page.name,
      303,
      '/dashboard/login',
    ]);
  }
});

test("another merchant's user gets 404 for every object, and sees nothing of it anywhere", async ({
  pages,
  request,
  objects,
  stranger,
}) => {
  const words = [objects.order, objects.delivery, objects.document, objects.merchant];
  const canaries = [...words, BUYER, 'Asha Textiles Private Limited', 'AAGCB7383J'];
  for (const page of pages.filter(({ kind }) => kind === 'merchant')) {
    const { status, body } = await request(page, stranger);
    if (page.hasObject) expect([page.name, status]).toEqual([page.name, 404]);
    const shown = canaries.filter((canary) => body.includes(canary));
    expect([page.name, shown]).toEqual([page.name, []]);
  }
});

test("the merchant's own user gets 404 for its sandbox's objects in production", async ({
  service,
  pages,
  request,
  merchant,
}) => {
  const owner = await merchantUser(service.sql, merchant.merchantId);
  const production = pages.filter(
    ({ route, hasObject }) => route.path.startsWith('/dashboard/production/') && hasObject,
  );
  expect(production.length).toBeGreaterThan(3);
  for (const page of production.filter(({ route }) => !route.path.includes('/documents/'))) {
    expect([page.name, (await request(page, owner)).status]).toEqual([page.name, 404]);
  }
});

test("operators' pages do not exist for a merchant's user, and the reverse", async ({
  service,
  pages,
  request,
  stranger,
}) => {
  const admin = await operatorUser(service.sql, 'admin');
  for (const page of pages.filter(({ kind }) => kind !== 'anyone')) {
    const user = page.kind === 'operator' ? stranger : admin;
    expect([page.name, (await request(page, user)).status]).toEqual([page.name, 404]);
  }
});

test.for(ROLES)(
  'an operator with the role %s may use exactly the forms that the permissions allow',
  async (role, { service, pages, request }) => {
    const operator = await operatorUser(service.sql, role, {
      email: `${ulid().toLowerCase()}@ops.example`,
    });
    const forms = pages.filter(({ kind, route }) => kind === 'operator' && route.method === 'POST');
    for (const page of forms.filter(({ route }) => !route.path.startsWith('/operator/account'))) {
      const permission = FORM_PERMISSIONS[page.route.path];
      expect([page.name, permission]).not.toEqual([page.name, undefined]);
      const roles: readonly OperatorRole[] = rolesFor(permission as OperatorAction);
      const { status } = await request(page, operator);
      const isRefused = status === 403;
      expect([page.name, isRefused]).toEqual([page.name, !roles.includes(role)]);
    }
  },
);

test('an operator without two-factor authentication sees only the page that sets it up', async ({
  service,
  pages,
  request,
}) => {
  const operator = await operatorUser(service.sql, 'admin', { hasTwoFactor: false });
  for (const page of pages.filter(({ kind }) => kind === 'operator')) {
    if (page.route.path.startsWith('/operator/account')) continue;
    const { status, location } = await request(page, operator);
    expect([page.name, status, location]).toEqual([page.name, 303, '/operator/account']);
  }
});
