import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { phonesOf, violationsOf } from '../support/browser.ts';
import { linkTo } from '../support/mails.ts';
import { serviceTest } from '../support/service-test.ts';
import { codeOf, operatorUser, PASSWORD, TOTP_SECRET } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import type { Screen } from './screens.ts';
import { clickInMenu } from './menu.ts';

export const accountTest = () =>
  serviceTest({ time: 'real', worker: false }).extend(
    'newPhone',
    ({ service: _service }, { onCleanup }) => phonesOf(onCleanup),
  );

export const NEW_PASSWORD = 'four purple umbrellas';

async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) {
    await page.getByLabel(label, { exact: true }).fill(value);
  }
}

async function expectFit(page: Page): Promise<void> {
  const title = await page.title();
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect({ title, overflow, violations: await violationsOf(page) }).toEqual({
    title,
    overflow: 0,
    violations: [],
  });
}

export function accountOn(test: ReturnType<typeof accountTest>, screens: readonly Screen[]): void {
  let merchants = 0;
  let invitations = 0;

  test.for(screens)(
    'a merchant signs up, sets two-factor up and changes the password, on pages that are accessible: $colorScheme, $viewport.width pixels wide',
    async (screen, { service, newPhone }) => {
      const email = `bina-${(merchants += 1)}@shop.example`;
      const { page, complaints } = await newPhone(screen);
      await page.goto(`${service.origin}/dashboard/sign-up`);
      await expectFit(page);
      await fill(page, { 'Name of the business': 'Bina Books', 'E-mail': email, Password: 'x' });
      await page.getByRole('button', { name: 'Sign up' }).click();
      await page.getByText('The password must have at least 12 characters').waitFor();
      await expectFit(page);
      await fill(page, { Password: PASSWORD });
      await page.getByRole('button', { name: 'Sign up' }).click();
      await page.getByText('Check your e-mail at').waitFor();
      await expectFit(page);

      await page.goto(service.origin + (await linkTo(service.sql, email)));
      await expectFit(page);
      await fill(page, { 'The password that you have just chosen': PASSWORD });
      await page.getByRole('button', { name: 'Confirm the address' }).click();
      await clickInMenu(page, page.getByRole('link', { name: 'Account' }));
      await page.getByText('This session').waitFor();
      await expectFit(page);

      await page.getByRole('link', { name: 'Change the password' }).click();
      await page.getByLabel('New password').waitFor();
      await expectFit(page);
      await fill(page, { 'Your password': PASSWORD, 'New password': NEW_PASSWORD });
      await page.getByRole('button', { name: 'Change the password' }).click();
      await page.getByText('Your password is changed.').waitFor();

      await page.getByRole('link', { name: 'Set up two-factor' }).click();
      await page.getByRole('button', { name: 'Start' }).click();
      const secret = (await page.locator('code').first().textContent()) ?? '';
      await expectFit(page);
      await fill(page, { Code: codeOf(secret), 'Your password': NEW_PASSWORD });
      await page.getByRole('button', { name: 'Switch on' }).click();
      await page.getByText('Two-factor authentication is on.').waitFor();
      await expectFit(page);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('recovery-codes.txt');
      await page.getByRole('link', { name: 'I have stored them' }).click();
      await page.getByRole('link', { name: 'Manage two-factor' }).click();
      await page.waitForURL('**/two-factor');
      await expectFit(page);
      await clickInMenu(page, page.getByRole('button', { name: 'Log out' }));
      await page.getByText('You are logged out.').waitFor();
      await expectFit(page);
      // What was refused answers with 400, which browsers report.
      expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    },
  );

  test.for(screens)(
    'an operator logs in with a code and invites another with a second one, on pages that are accessible: $colorScheme, $viewport.width pixels wide',
    async (screen, { service, newPhone }) => {
      const { email } = await operatorUser(service.sql, 'admin');
      const { page, complaints } = await newPhone(screen);
      await page.goto(`${service.origin}/operator/operators`);
      await fill(page, { 'E-mail': email, Password: PASSWORD });
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByRole('heading', { name: 'Two-factor code' }).waitFor();
      await expectFit(page);
      await fill(page, { Code: codeOf(TOTP_SECRET) });
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByRole('heading', { name: 'Operators', exact: true }).waitFor();
      await expectFit(page);
      const invited = `invited-${(invitations += 1)}@ops.example`;
      await fill(page, { 'E-mail': invited, Reason: 'A new colleague' });
      await page.getByRole('button', { name: 'Propose the invitation' }).click();
      await page.getByText('Another operator has to approve it within 24 hours.').waitFor();
      await expectFit(page);
      const proposal = new URL(page.url()).pathname;
      const second = browserOf(service.origin, await operatorUser(service.sql, 'admin'));
      expect((await second.post(`${proposal}/approve`)).location).toContain('done=approved');
      const link = service.origin + (await linkTo(service.sql, invited));
      await page.goto(`${service.origin}/operator/proposals`);
      await expectFit(page);
      await page.goto(`${service.origin}/operator/operators`);
      await page.getByRole('link', { name: invited }).click();
      await page.getByRole('button', { name: 'Disable the operator' }).waitFor();
      await expectFit(page);

      const other = await newPhone(screen);
      await other.page.goto(link);
      await expectFit(other.page);
      await fill(other.page, { 'New password': NEW_PASSWORD });
      await other.page.getByRole('button', { name: 'Continue' }).click();
      await other.page.getByText('set it up to continue').waitFor();
      await expectFit(other.page);
      expect([...complaints, ...other.complaints]).toEqual([]);
    },
  );
}
