import { ulid } from 'ulid';
import type { Sql } from '../../src/db/client.ts';
import type { BusinessForm, OnboardingDeps, Upload } from '../../src/onboarding/public.ts';
import {
  addDocument,
  readApplication,
  saveBank,
  saveBusiness,
  submitApplication,
  versionOf,
} from '../../src/onboarding/public.ts';
import { createMerchant } from '../../src/merchants/commands.ts';

/** A business form with nothing missing. */
export const A_COMPANY = {
  legalName: 'Asha Textiles Private Limited',
  businessKind: 'company',
  pan: 'AAGCB7383J',
  gstin: '29AAGCB7383J1Z4',
  phone: '+91 98765 43210',
  street: '507, Koramangala 1st block',
  city: 'Bengaluru',
  region: 'Karnataka',
  pinCode: '560034',
} as const satisfies BusinessForm;

export const AN_ACCOUNT = {
  accountHolder: 'Asha Textiles Private Limited',
  accountNumber: '50100123456789',
  accountNumberAgain: '50100123456789',
  ifsc: 'HDFC0001234',
};

const PDF_START = Buffer.from('%PDF-1.7\n%\u00E2\u00E3\u00CF\u00D3\n');

/** A PDF of this size; others with another note. */
export const pdf = (note: string, sizeBytes = 1000) =>
  Buffer.concat([PDF_START, Buffer.from(note), Buffer.alloc(sizeBytes)], sizeBytes);

/** A picture of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A document of the kind, as it is uploaded. */
export const aDocument = (kind: Upload['kind'], note: string = kind): Upload => ({
  kind,
  fileName: `${kind}.pdf`,
  content: pdf(note),
});

/** A merchant whose person has signed up, and what acts for it. */
export async function aSignedUpMerchant(deps: OnboardingDeps) {
  const { sql } = deps;
  const email = `${ulid().toLowerCase()}@example.com`;
  const { merchantId } = await createMerchant(deps, { name: 'Asha Textiles', email });
  await sql`
    INSERT INTO users (user_id, email, merchant_id) VALUES (${`usr_${ulid()}`}, ${email}, ${merchantId})`;
  return merchantId;
}

/** Fills in everything; the merchant can submit. */
export async function complete(deps: OnboardingDeps, merchantId: string): Promise<void> {
  await saveBusiness(deps, merchantId, A_COMPANY);
  await saveBank(deps, merchantId, AN_ACCOUNT);
  for (const kind of ['identity', 'business', 'bank'] as const) {
    await addDocument(deps, merchantId, aDocument(kind));
  }
}

/** What the merchant sees now. */
export const seenNow = async (sql: Sql, merchantId: string) =>
  versionOf(await readApplication(sql, merchantId));

/** Submits what the merchant sees now. */
export async function submit(deps: OnboardingDeps, merchantId: string): Promise<void> {
  await submitApplication(deps, merchantId, await seenNow(deps.sql, merchantId));
}
