import type { BrowserContextOptions } from 'playwright-core';
import { expect } from 'vitest';
import { SESSION_COOKIE } from '../../src/accounts/public.ts';
import { createMerchant } from '../../src/merchants/commands.ts';
import type { OnboardingDeps } from '../../src/onboarding/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { phonesOf, violationsOf } from '../support/browser.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { complete, submit } from '../support/applications.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import type { TestUser } from '../support/users.ts';
import { merchantUser, operatorUser } from '../support/users.ts';
import { dashboardTest } from './dashboard-test.ts';
import type { Screen } from './screens.ts';

const PATH = '/dashboard/production/onboarding';

export const onboardingTest = () =>
  dashboardTest({ time: 'real', worker: false, merchant: { webhooks: false } })
    .extend('deps', ({ service }): OnboardingDeps => {
      const dataBox = createSecretBox(SECRET_KEYS);
      return { sql: service.sql, dataBox, actor: TEST_ACTOR };
    })
    .extend('applicant', async ({ service, deps }) => {
      const { merchantId } = await createMerchant(deps, {
        name: 'Asha',
        email: 'asha@example.com',
      });
      return { merchantId, user: await merchantUser(service.sql, merchantId) };
    })
    .extend('newPhone', ({ service: _service }, { onCleanup }) => phonesOf(onCleanup))
    .extend(
      'signedIn',
      ({ service, newPhone }) =>
        async (user: TestUser, options: BrowserContextOptions = {}) => {
          const phone = await newPhone({ baseURL: service.origin, ...options });
          const value = user.cookie.slice(`${SESSION_COOKIE}=`.length);
          const url = service.origin.replace('http:', 'https:');
          await phone.context.addCookies([
            { name: SESSION_COOKIE, value, url, sameSite: 'Strict' },
          ]);
          return phone;
        },
    );

export function onboardingOn(
  test: ReturnType<typeof onboardingTest>,
  screens: readonly Screen[],
): void {
  test.for(screens)(
    'no page has an accessibility violation, overflows or complains: $colorScheme, $viewport.width pixels wide',
    async (screen, { service, deps, applicant, signedIn }) => {
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
      for (const below of ['', '/business', '/bank', '/documents'])
        await check(phone, PATH + below);
      await phone.page.goto(`${PATH}/business`);
      await phone.page.getByLabel('PAN', { exact: true }).fill('wrong');
      await phone.page.getByRole('button', { name: 'Save and continue' }).click();
      await phone.page.locator('[aria-invalid=true]').waitFor();
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
    },
  );
}
