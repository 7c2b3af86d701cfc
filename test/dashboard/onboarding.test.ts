import { describe, expect } from 'vitest';
import { createMerchant } from '../../src/merchants/commands.ts';
import type { OnboardingDeps } from '../../src/onboarding/public.ts';
import { addDocument, readApplication, saveBusiness } from '../../src/onboarding/public.ts';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import {
  A_COMPANY,
  aDocument,
  AN_ACCOUNT,
  complete,
  pdf,
  submit,
} from '../support/applications.ts';
import { auditOf } from '../support/audit.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import { merchantUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

const PATH = '/dashboard/sandbox/onboarding';

const test = dashboardTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('deps', ({ service }): OnboardingDeps => {
    const dataBox = createSecretBox(SECRET_KEYS);
    return { sql: service.sql, dataBox, actor: TEST_ACTOR };
  })
  .extend('newApplicant', ({ service, deps }) => async () => {
    const { merchantId } = await createMerchant(deps, { name: 'Asha', email: 'asha@example.com' });
    const user = await merchantUser(service.sql, merchantId);
    return { merchantId, user, browser: browserOf(service.origin, user) };
  })
  .extend('applicant', ({ newApplicant }) => newApplicant());

function documentForm(kind: string, content = pdf(kind), name = `${kind}.pdf`) {
  const form = new FormData();
  form.set('kind', kind);
  form.set('file', new File([content], name, { type: 'text/html' }));
  return form;
}

const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');
const hiddenVersion = (html: string) => /name="version" value="([^"]*)"/.exec(html)?.[1] ?? '';

test('a merchant fills in the steps, submits, is rejected, changes it and submits again', async ({
  deps,
  applicant: { merchantId, browser },
}) => {
  const start = await browser.get(PATH);
  expect([start.status, textOf(start.body)]).toEqual([
    200,
    expect.stringContaining('The legal name is missing.'),
  ]);
  expect(start.body).not.toContain('Submit for review');

  const business = await browser.post(`${PATH}/business`, A_COMPANY);
  expect([business.status, business.location]).toEqual([303, `${PATH}/bank`]);
  const bank = await browser.post(`${PATH}/bank`, AN_ACCOUNT);
  expect([bank.status, bank.location]).toEqual([303, `${PATH}/documents`]);
  for (const kind of ['identity', 'business', 'bank']) {
    const suggested = new RegExp(`value="${kind}" selected|selected value="${kind}"`);
    expect((await browser.get(`${PATH}/documents`)).body).toMatch(suggested);
    const added = await browser.upload(`${PATH}/documents`, documentForm(kind));
    expect([added.status, added.location]).toEqual([303, `${PATH}/documents?done=added`]);
  }
  expect((await browser.get(`${PATH}/documents?done=added`)).body).toContain(
    'The document is stored.',
  );

  const review = await browser.get(PATH);
  expect(textOf(review.body)).toContain('Account number •••• 6789');
  const submitted = await browser.post(`${PATH}/submit`, { version: hiddenVersion(review.body) });
  expect([submitted.status, submitted.location]).toEqual([303, `${PATH}?done=submitted`]);
  expect(textOf((await browser.get(PATH)).body)).toContain('We are checking your application.');

  const reason = 'The cheque is <b>not</b> readable';
  await changeMerchantStatus(deps, merchantId, 'reject', { reason });
  const rejected = await browser.get(PATH);
  expect(rejected.body).toContain('The cheque is &lt;b>not&lt;/b> readable');
  expect((await browser.post(`${PATH}/business`, { ...A_COMPANY, city: 'Mysuru' })).status).toBe(
    303,
  );
  const again = await browser.get(PATH);
  await browser.post(`${PATH}/submit`, { version: hiddenVersion(again.body) });
  expect(await readApplication(deps.sql, merchantId)).toMatchObject({
    state: 'under_review',
    submissions: 2,
    business: { city: 'Mysuru' },
  });
  await changeMerchantStatus(deps, merchantId, 'approve');
  expect(textOf((await browser.get(PATH)).body)).toContain('Your business is approved.');
});

test('every change is in the audit log with the merchant’s user and address', async ({
  deps,
  applicant: { merchantId, user, browser },
}) => {
  await browser.post(`${PATH}/business`, A_COMPANY);
  await browser.upload(`${PATH}/documents`, documentForm('bank'));
  const rows = await deps.sql`
    SELECT actor, address, action FROM audit_log WHERE merchant_id = ${merchantId} AND action LIKE 'application.%'
    ORDER BY audit_id`;
  const who = { actor: `merchant:${user.email}`, address: '127.0.0.1' };
  expect(rows).toEqual([
    { ...who, action: 'application.save' },
    { ...who, action: 'application.document.add' },
  ]);
});

describe('a form with an error', () => {
  test('shows what was typed, and the sentence at its field', async ({
    deps,
    applicant: { merchantId, browser },
  }) => {
    const fields = {
      ...A_COMPANY,
      pan: 'AAGPB7383J',
      gstin: '',
      legalName: 'Asha "Textiles" <Ltd>',
    };
    const { status, body } = await browser.post(`${PATH}/business`, fields);
    expect(status).toBe(400);
    expect(body).toContain('value="Asha &quot;Textiles&quot; &lt;Ltd>"');
    expect(body).toMatch(/<input[^>]*id="pan"[^>]*aria-invalid="true"[^>]*value="AAGPB7383J"/);
    expect(textOf(body)).toContain(
      'The fourth letter of this PAN is P; for "Company" it must be C',
    );
    expect((await readApplication(deps.sql, merchantId)).business.legalName).toBeNull();
  });

  test('about the bank account keeps nothing', async ({ applicant: { browser } }) => {
    const fields = { ...AN_ACCOUNT, accountNumberAgain: '1' };
    const { status, body } = await browser.post(`${PATH}/bank`, fields);
    expect([status, textOf(body)]).toEqual([
      400,
      expect.stringContaining('The two bank account numbers differ'),
    ]);
    expect((await browser.get(`${PATH}/bank`)).body).not.toContain(AN_ACCOUNT.accountNumber);
  });

  test.for([
    ['a file that is no document', 'bank', Buffer.from('<html>'), 'must be a PDF, a JPEG or a PNG'],
    ['an empty file', 'bank', Buffer.alloc(0), 'Choose a file; this one is empty'],
    ['no kind', '', pdf('x'), 'Choose what the document proves'],
    ['an unknown kind', 'toString', pdf('x'), 'Choose what the document proves'],
  ] as const)('%s is not stored', async ([_what, kind, content, sentence], { applicant, deps }) => {
    const { browser, merchantId } = applicant;
    const form = documentForm(kind, Buffer.from(content), 'cheque.pdf');
    const { status, body } = await browser.upload(`${PATH}/documents`, form);
    expect([status, textOf(body)]).toEqual([400, expect.stringContaining(sentence)]);
    expect((await readApplication(deps.sql, merchantId)).documents).toEqual([]);
  });

  test('a file over the limit is a 413 that says so', async ({ applicant: { browser } }) => {
    const form = documentForm('bank', pdf('x', 5 * 1024 * 1024 + 70_000));
    const { status, body } = await browser.upload(`${PATH}/documents`, form);
    expect([status, textOf(body)]).toEqual([
      413,
      expect.stringContaining('The file is larger than 5 MB'),
    ]);
  });

  test('a file of just over 5 MB is refused at its field', async ({ applicant: { browser } }) => {
    const form = documentForm('bank', pdf('x', 5 * 1024 * 1024 + 1));
    const { status, body } = await browser.upload(`${PATH}/documents`, form);
    expect([status, textOf(body)]).toEqual([
      400,
      expect.stringContaining('The file is larger than 5 MB'),
    ]);
  });
});

describe('submitting', () => {
  test('a stale page is refused, and the page shows the present state', async ({
    deps,
    applicant: { merchantId, browser },
  }) => {
    await complete(deps, merchantId);
    const version = hiddenVersion((await browser.get(PATH)).body);
    await saveBusiness(deps, merchantId, { ...A_COMPANY, city: 'Mysuru' });
    const { status, body } = await browser.post(`${PATH}/submit`, { version });
    expect([status, textOf(body)]).toEqual([
      400,
      expect.stringContaining('The application has changed since you opened this page'),
    ]);
    expect(body).toContain('Mysuru');
    expect(hiddenVersion(body)).not.toBe(version);
  });

  test('the pages of the steps lead to the review once it is submitted', async ({
    deps,
    applicant: { merchantId, browser },
  }) => {
    await complete(deps, merchantId);
    await submit(deps, merchantId);
    for (const step of ['business', 'bank', 'documents']) {
      const { status, location } = await browser.get(`${PATH}/${step}`);
      expect([status, location]).toEqual([303, PATH]);
    }
    const late = await browser.post(`${PATH}/business`, A_COMPANY);
    expect([late.status, textOf(late.body)]).toEqual([
      400,
      expect.stringContaining('The application is under review and cannot be changed'),
    ]);
  });
});

describe('a document', () => {
  async function withDocument(deps: OnboardingDeps, merchantId: string): Promise<string> {
    await addDocument(deps, merchantId, { ...aDocument('bank'), fileName: 'चेक (1).pdf' });
    const [document] = (await readApplication(deps.sql, merchantId)).documents;
    return `${PATH}/documents/${document?.documentId ?? ''}`;
  }

  test('downloads as an attachment that cannot run as a page', async ({
    deps,
    applicant: { merchantId, browser },
  }) => {
    const path = await withDocument(deps, merchantId);
    const { status, headers, body } = await browser.get(path);
    expect([status, body]).toEqual([200, pdf('bank').toString('utf8')]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-disposition':
        'attachment; filename="___ _1_.pdf"; filename*=UTF-8\'\'%E0%A4%9A%E0%A5%87%E0%A4%95%20%281%29.pdf',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect((await auditOf(deps.sql, merchantId)).at(-1)?.action).toBe('document.read');
  });

  test('is removed while the application may be edited', async ({
    deps,
    applicant: { merchantId, browser },
  }) => {
    const path = await withDocument(deps, merchantId);
    const removed = await browser.post(`${path}/remove`);
    expect([removed.status, removed.location]).toEqual([303, `${PATH}/documents?done=removed`]);
    expect((await browser.get(path)).status).toBe(404);
  });
});
