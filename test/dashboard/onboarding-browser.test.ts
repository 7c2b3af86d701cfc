import { expect } from 'vitest';
import { readApplication } from '../../src/onboarding/public.ts';
import { operatorUser } from '../support/users.ts';
import { finishApplication, typeBusiness } from './application-form.ts';
import { onboardingOn, onboardingTest, PATH } from './onboarding-browser.ts';
import { ONE_SCREEN } from './screens.ts';

const test = onboardingTest();

test('without JavaScript and on a phone, a merchant applies and two operators approve', async ({
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
  await review.getByRole('button', { name: 'Propose to approve' }).click();
  await review.getByText('Another operator has to approve it within 24 hours.').waitFor();
  const second = await signedIn(await operatorUser(service.sql, 'admin'), {
    javaScriptEnabled: false,
  });
  await second.page.goto(new URL(review.url()).pathname);
  await second.page.getByRole('button', { name: 'Approve' }).click();
  await second.page.getByText('It is approved and carried out.').waitFor();
  expect((await readApplication(deps.sql, applicant.merchantId)).state).toBe('not_ready');
  await page.reload();
  await page.getByText('Your business is approved.').waitFor();
});

onboardingOn(test, [ONE_SCREEN]);
