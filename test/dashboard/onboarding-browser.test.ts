import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect } from 'vitest';
import { SESSION_COOKIE } from '../../src/accounts/public.ts';
import { createMerchant } from '../../src/merchants/commands.ts';
import type { OnboardingDeps } from '../../src/onboarding/public.ts';
import { readApplication } from '../../src/onboarding/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { launchBrowser, phonesOf, violationsOf } from '../checkout/browser.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { complete, submit } from '../support/applications.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import type { TestUser } from '../support/users.ts';
import { merchantUser, operatorUser } from '../support/users.ts';
import { finishApplication, typeBusiness } from './application-form.ts';
import { dashboardTest } from './dashboard-test.ts';

const PATH = '/dashboard/production/onboarding';

const test = dashboardTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('deps', ({ service }): OnboardingDeps => {
    const dataBox = createSecretBox(SECRET_KEYS);
    return { sql: service.sql, dataBox, actor: TEST_ACTOR };
  })
  .extend('applicant', async ({ service, deps }) => {
    const { merchantId } = await createMerchant(deps, { name: 'Asha', email: 'asha@example.com' });
    return { merchantId, user: await merchantUser(service.sql, merchantId) };
  })
  .extend('browser', { scope: 'file' }, ({ service: _service }, { onCleanup }) =>
    stoppedAtEnd(launchBrowser(), onCleanup),
  )
  .extend('newPhone', ({ browser }, { onCleanup }) => phonesOf(browser, onCleanup))
  .extend(
    'signedIn',
    ({ service, newPhone }) =>
      async (user: TestUser, options: BrowserContextOptions = {}) => {
        const phone = await newPhone({ baseURL: service.origin, ...options });
        const value = user.cookie.slice(`${SESSION_COOKIE}=`.length);
        const url = service.origin.replace('http:', 'https:');
        await phone.context.addCookies([{ name: SESSION_COOKIE, value, url, sameSite: 'Strict' }]);
        return phone;
      },
  );

test('without JavaScript and on a phone, a merchant applies and an operator approves', async ({
  service,
  deps,
  applicant,
  signedIn,
}) => {
  const { page } = await signedIn(applicant.user, { javaScriptEnabled: false });
  await page.goto(PATH);
  await page.getByRole('link', { name: 'Edit the business' }).click();
  await typeBusiness(page);
  await page.getByLabel('Kind of business').selectOption('Individual');
  await page.getByRole('button', { name: 'Save and continue' }).click();
  await page
    .getByText('The fourth letter of this PAN is C; for "Individual" it must be P')
    .waitFor();
  await page.getByLabel('Kind of business').selectOption('Company');
  await page.getByRole('button', { name: 'Save and continue' }).click();

  await finishApplication(page);

  const admin = await operatorUser(service.sql, 'admin');
  const { page: review } = await signedIn(admin, { javaScriptEnabled: false });
  await review.goto('/operator/merchants');
  await review
    .getByRole('region', { name: 'Waiting for a decision' })
    .getByRole('link')
    .last()
    .click();
  const downloading = review.waitForEvent('download');
  await review.getByRole('link', { name: 'bank.pdf' }).click();
  expect((await downloading).suggestedFilename()).toBe('bank.pdf');
  await review.getByLabel('Reason').fill('All documents fit');
  await review.getByRole('button', { name: 'Approve' }).click();
  await review.getByText('The merchant is approved.').waitFor();
  expect((await readApplication(deps.sql, applicant.merchantId)).state).toBe('approved');
  await page.reload();
  await page.getByText('Your business is approved.').waitFor();
});

describe.each([
  ['light', 360],
  ['dark', 360],
  ['light', 1440],
  ['dark', 1440],
] as const)('%s, %i pixels wide', (colorScheme, width) => {
  const screen = { colorScheme, viewport: { width, height: 900 } };

  test('no page has an accessibility violation, overflows or complains', async ({
    service,
    deps,
    applicant,
    signedIn,
  }) => {
    const found: [path: string, violations: string[], overflowPixels: unknown][] = [];
    const check = async (phone: Awaited<ReturnType<typeof signedIn>>, path: string) => {
      const { page } = phone;
      if (path !== '') await page.goto(path);
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      found.push([page.url(), await violationsOf(page), overflow]);
    };
    const phone = await signedIn(applicant.user, screen);
    await check(phone, PATH);
    await complete(deps, applicant.merchantId);
    for (const below of ['', '/business', '/bank', '/documents']) await check(phone, PATH + below);
    await phone.page.goto(`${PATH}/business`);
    await phone.page.getByLabel('PAN', { exact: true }).fill('wrong');
    await phone.page.getByRole('button', { name: 'Save and continue' }).click();
    await check(phone, '');
    await submit(deps, applicant.merchantId);
    await check(phone, PATH);

    const review = await signedIn(await operatorUser(service.sql, 'admin'), screen);
    for (const path of ['', `/${applicant.merchantId}`, '?q=nothing-like-it']) {
      await check(review, `/operator/merchants${path}`);
    }
    expect(found).toEqual(found.map(([path]) => [path, [], 0]));
    // The console names the refused form.
    const complaints = [...phone.complaints, ...review.complaints];
    expect(complaints.filter((text) => !text.includes('400 (Bad Request)'))).toEqual([]);
  });
});
