import type { Page } from 'playwright-core';
import { A_COMPANY, AN_ACCOUNT, pdf } from '../support/applications.ts';

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

/** Types the details of a company into the first step of an application, without its kind. */
export async function typeBusiness(page: Page): Promise<void> {
  for (const [label, value] of [
    ['Legal name', A_COMPANY.legalName],
    ['PAN', A_COMPANY.pan],
    ['GSTIN', A_COMPANY.gstin],
    ['Phone number', A_COMPANY.phone],
    ['Registered address', A_COMPANY.street],
    ['City', A_COMPANY.city],
    ['PIN code', A_COMPANY.pinCode],
  ] as const) {
    await page.getByLabel(label, { exact: label === 'PAN' }).fill(value);
  }
  await page.getByLabel('State').selectOption('Karnataka');
}

/** From the second step to the submission: bank account, three documents, review. */
export async function finishApplication(page: Page): Promise<void> {
  await page.getByLabel("Account holder's name").fill(AN_ACCOUNT.accountHolder);
  await page.getByLabel('Bank account number', { exact: true }).fill(AN_ACCOUNT.accountNumber);
  await page.getByLabel('Bank account number again').fill(AN_ACCOUNT.accountNumber);
  await page.getByLabel('IFSC').fill('hdfc0001234');
  await press(page, 'Save and continue');
  for (const kind of ['identity', 'business', 'bank'] as const) {
    await page.getByLabel('What it proves').selectOption(kind);
    const file = { name: `${kind}.pdf`, mimeType: 'application/pdf', buffer: pdf(kind) };
    await page.getByLabel('File').setInputFiles(file);
    await press(page, 'Upload');
    await page.getByText('The document is stored.').waitFor();
  }
  await page.getByRole('link', { name: 'Continue to the review' }).click();
  await press(page, 'Submit for review');
  await page.getByText('Your application is submitted.').waitFor();
}
