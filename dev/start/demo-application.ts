import type { OnboardingDeps } from '../../src/onboarding/public.ts';
import {
  addDocument,
  readApplication,
  saveBank,
  saveBusiness,
  submitApplication,
  versionOf,
} from '../../src/onboarding/public.ts';

/** Invented: no company, bank or street has these. */
const BUSINESS = {
  legalName: 'Demo Bazaar Private Limited',
  businessKind: 'company',
  pan: 'DEMCO1234D',
  gstin: '29DEMCO1234D1Z9',
  phone: '98765 43210',
  street: '1 Example Street, Sample Nagar',
  city: 'Bengaluru',
  region: 'Karnataka',
  pinCode: '560001',
} as const;

const BANK = {
  accountHolder: BUSINESS.legalName,
  accountNumber: '000123456789',
  accountNumberAgain: '000123456789',
  ifsc: 'DEMO0000001',
};

/** An image of one pixel. */
const SAMPLE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Submits the application of the demo merchant, as its owner would on the pages of the onboarding. */
export async function submitDemoApplication(
  deps: OnboardingDeps,
  merchantId: string,
): Promise<void> {
  await saveBusiness(deps, merchantId, BUSINESS);
  await saveBank(deps, merchantId, BANK);
  for (const kind of ['identity', 'business', 'bank'] as const) {
    const file = { kind, fileName: `Sample ${kind}.png`, content: SAMPLE };
    await addDocument(deps, merchantId, file);
  }
  const seen = versionOf(await readApplication(deps.sql, merchantId));
  await submitApplication(deps, merchantId, seen);
}
