import type { OnboardingDeps } from '../../src/onboarding/public.ts';
import {
  addDocument,
  DOCUMENT_KINDS,
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

/** Submits the application of the demo merchant, as its owner would on the pages of the onboarding. */
export async function submitDemoApplication(
  deps: OnboardingDeps,
  merchantId: string,
): Promise<void> {
  await saveBusiness(deps, merchantId, BUSINESS);
  await saveBank(deps, merchantId, BANK);
  for (const kind of ['identity', 'business', 'bank'] as const) {
    const content = pdfOf(`${DOCUMENT_KINDS[kind].label} of ${BUSINESS.legalName}: a sample`);
    await addDocument(deps, merchantId, { kind, fileName: `Sample ${kind}.pdf`, content });
  }
  const seen = versionOf(await readApplication(deps.sql, merchantId));
  await submitApplication(deps, merchantId, seen);
}

/** A PDF of one page with a line of text, in ASCII and without brackets. Source: ISO 32000-1, 7.5. */
function pdfOf(line: string): Buffer {
  const content = `BT /F1 16 Tf 60 760 Td (${line}) Tj ET`;
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${content.length}>>stream\n${content}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  let pdf = '%PDF-1.7\n';
  const places = objects.map((object, index) => {
    const place = String(pdf.length).padStart(10, '0');
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${place} 00000 n \n`;
  });
  const table = `xref\n0 6\n0000000000 65535 f \n${places.join('')}`;
  const trailer = `trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n${pdf.length}\n%%EOF\n`;
  return Buffer.from(pdf + table + trailer, 'latin1');
}
