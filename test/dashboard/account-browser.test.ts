import { linkTo } from '../support/mails.ts';
import { merchantUser } from '../support/users.ts';
import { accountOn, accountTest, NEW_PASSWORD } from './account-browser.ts';
import { ONE_SCREEN } from './screens.ts';

const test = accountTest();

accountOn(test, [ONE_SCREEN]);

test('without JavaScript a forgotten password is set anew by the keyboard alone', async ({
  service,
  merchant,
  newPhone,
}) => {
  const { email } = await merchantUser(service.sql, merchant.merchantId);
  const { page } = await newPhone({ javaScriptEnabled: false });
  await page.goto(`${service.origin}/dashboard/login`);
  await page.getByRole('link', { name: 'Forgotten your password?' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/forgot-password');
  await page.getByLabel('E-mail').focus();
  await page.keyboard.type(email);
  await page.keyboard.press('Enter');
  await page.getByText('The link works for 30 minutes').waitFor();
  await page.goto(service.origin + (await linkTo(service.sql, email)));
  await page.getByLabel('New password').focus();
  await page.keyboard.type(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText('The new password is set').waitFor();
  await page.getByLabel('E-mail').focus();
  await page.keyboard.type(email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname === '/dashboard/sandbox');
});
