import { describe, expect } from 'vitest';
import { createMerchant, changeMerchantStatus } from '../../src/merchants/commands.ts';
import type { OnboardingDeps } from '../../src/onboarding/public.ts';
import {
  addDocument,
  readApplication,
  removeDocument,
  saveBank,
  saveBusiness,
} from '../../src/onboarding/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import {
  A_COMPANY,
  aDocument,
  AN_ACCOUNT,
  aSignedUpMerchant,
  complete,
  pdf,
  PNG,
  submit,
} from '../support/applications.ts';
import { auditOf } from '../support/audit.ts';
import { carriedOutBy, proposalOf } from '../support/proposals.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import { signIn } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';
import { HOUR_MS, type PastOrder, writeMerchant, writePastOrders } from './past-orders.ts';

const pathOf = (merchantId: string) => `/operator/merchants/${merchantId}`;
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const versionIn = (html: string) => /name="version" value="([^"]*)"/.exec(html)?.[1] ?? '';

const test = dashboardTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('deps', ({ service }): OnboardingDeps => {
    const dataBox = createSecretBox(SECRET_KEYS);
    return { sql: service.sql, dataBox, actor: TEST_ACTOR };
  })
  .extend('waiting', async ({ deps }) => {
    const merchantId = await aSignedUpMerchant(deps);
    await complete(deps, merchantId);
    await submit(deps, merchantId);
    return merchantId;
  })
  .extend(
    'decide',
    ({ operators: { admin } }) =>
      async (id: string, change: string, reason = 'so') => {
        const version = versionIn((await admin.get(pathOf(id))).body);
        return admin.post(`${pathOf(id)}/decision`, { change, reason, version });
      },
  );

describe('the list of merchants', () => {
  test('begins with what waits for a decision', async ({ operators: { support }, waiting }) => {
    const { status, body } = await support.get('/operator/merchants');
    expect(status).toBe(200);
    const [first = ''] = /<section[\s\S]*?<\/section>/.exec(body) ?? [];
    expect(first).toContain(pathOf(waiting));
  });

  test('is searched, and pages keep the search', async ({ operators: { support }, deps }) => {
    for (let number = 0; number < 30; number += 1) {
      await createMerchant(deps, { name: `Weaver ${number}`, email: 'w@example.com' });
    }
    const first = await support.get('/operator/merchants?q=weaver&status=PENDING');
    const links = (body: string) => new Set(body.match(/\/operator\/merchants\/mer_\w+/g));
    expect(links(first.body).size).toBe(25);
    const [, older = ''] = /href="([^"]*before=[^"]*)"/.exec(first.body) ?? [];
    const second = await support.get(older.replaceAll('&amp;', '&'));
    expect(links(second.body).size).toBe(5);
    expect(new Set([...links(first.body), ...links(second.body)]).size).toBe(30);
    expect((await support.get('/operator/merchants?q=%25')).body).toContain('No merchant matches.');
  });
});

describe('a decision', () => {
  test('approves, suspends, activates and rejects, and the history shows each with its reason', async ({
    deps,
    operators: { support, otherAdmin },
    waiting,
    decide,
  }) => {
    const states: string[] = [];
    for (const change of ['approve', 'suspend', 'activate', 'reject']) {
      const decided = await decide(waiting, change, `Because of ${change}`);
      expect(decided.status).toBe(303);
      if (change === 'approve' || change === 'activate') await carriedOutBy(otherAdmin, decided);
      else expect(decided.location).toBe(`${pathOf(waiting)}?done=${change}`);
      states.push((await readApplication(deps.sql, waiting)).state);
    }
    expect(states).toEqual(['not_ready', 'suspended', 'not_ready', 'rejected']);
    const { body } = await support.get(pathOf(waiting));
    for (const change of ['approve', 'suspend', 'activate', 'reject']) {
      expect(textOf(body)).toContain(`Because of ${change}`);
    }
    expect((await auditOf(deps.sql, waiting)).at(-1)?.actor).toMatch(/^operator:.+@ops\.example$/);
  });

  test('approves with the first linked account, which is active at once', async ({
    operators: { admin, otherAdmin },
    waiting,
  }) => {
    const version = versionIn((await admin.get(pathOf(waiting))).body);
    const fields = { change: 'approve', reason: 'All documents fit', version };
    const firstAccountId = 'acc_First1w1th2app';
    const proposed = await admin.post(`${pathOf(waiting)}/decision`, { ...fields, firstAccountId });
    const again = await admin.post(`${pathOf(waiting)}/decision`, { ...fields, firstAccountId });
    expect([again.status, textOf(again.body)]).toEqual([
      400,
      expect.stringContaining('The same is proposed already'),
    ]);
    expect((await admin.get(pathOf(waiting))).body).toContain(`href="${proposalOf(proposed)}"`);
    const shown = textOf((await otherAdmin.get(proposalOf(proposed))).body);
    expect(shown).toContain('Status PENDING APPROVED');
    expect(shown).toContain(`Linked account none ${firstAccountId}`);
    await carriedOutBy(otherAdmin, proposed);
    const { body } = await admin.get(pathOf(waiting));
    expect(textOf(body)).toContain(`Production pays out to ${firstAccountId}`);
    expect(body).not.toContain(proposalOf(proposed));
  });

  test('is not approved if the application has changed since it was proposed', async ({
    deps,
    operators: { otherAdmin },
    waiting,
    decide,
  }) => {
    const proposed = await decide(waiting, 'approve');
    await decide(waiting, 'reject', 'A document is missing');
    const { status, body } = await otherAdmin.post(`${proposalOf(proposed)}/approve`);
    expect([status, textOf(body)]).toEqual([
      400,
      expect.stringContaining('is rejected, and must submit its application again first'),
    ]);
    expect((await readApplication(deps.sql, waiting)).state).toBe('rejected');
  });

  test('says before a suspension what it stops', async ({
    operators: { admin, otherAdmin },
    waiting,
    decide,
  }) => {
    await carriedOutBy(otherAdmin, await decide(waiting, 'approve'));
    const text = textOf((await admin.get(pathOf(waiting))).body);
    expect(text).toContain('The API answers 403 and buyers cannot start payments. Releases wait');
    expect(text).toContain('disputes, refunds and webhooks continue');
  });

  test('on a stale page is refused, with the typed reason and the present state', async ({
    deps,
    operators: { admin },
    waiting,
  }) => {
    const version = versionIn((await admin.get(pathOf(waiting))).body);
    await changeMerchantStatus(deps, waiting, 'approve');
    const fields = { change: 'reject', reason: 'I typed <this>', version };
    const { status, body } = await admin.post(`${pathOf(waiting)}/decision`, fields);
    expect([status, textOf(body)]).toEqual([400, expect.stringContaining('has changed since')]);
    expect(body).toContain('I typed &lt;this></textarea>');
    expect((await readApplication(deps.sql, waiting)).state).toBe('not_ready');
  });

  test('that does not exist is refused', async ({ waiting, decide }) => {
    expect((await decide(waiting, 'delete')).status).toBe(400);
  });
});

describe('the account number', () => {
  test('is shown in full to finance, with an audit row', async ({
    deps,
    operators: { finance },
    waiting,
  }) => {
    const before = await finance.get(pathOf(waiting));
    expect(before.body).toContain('•••• 6789');
    expect(before.body).not.toContain(AN_ACCOUNT.accountNumber);
    const { status, body } = await finance.post(`${pathOf(waiting)}/account-number`);
    expect([status, body]).toEqual([200, expect.stringContaining(AN_ACCOUNT.accountNumber)]);
    expect((await auditOf(deps.sql, waiting)).at(-1)?.action).toBe('accountNumber.read');
  });
});

describe('the linked account', () => {
  test('is proposed by finance, set once an admin has approved it, and shown', async ({
    operators: { finance, admin },
    waiting,
  }) => {
    const path = `${pathOf(waiting)}/linked-account`;
    const accountReason = 'The merchant has opened it';
    const fields = { linkedAccountId: ' acc_GRWKk7qQsLnDjX ', accountReason };
    const proposed = await finance.post(path, fields);
    const shown = textOf((await admin.get(proposalOf(proposed))).body);
    expect(shown).toContain('none acc_GRWKk7qQsLnDjX');
    expect(shown).toContain(accountReason);
    expect(textOf((await finance.get(pathOf(waiting))).body)).toContain('Without one, production');
    await carriedOutBy(admin, proposed);
    expect(textOf((await finance.get(pathOf(waiting))).body)).toContain(
      'Production pays out to acc_GRWKk7qQsLnDjX',
    );
    const wrong = await finance.post(path, { linkedAccountId: 'a b', accountReason });
    expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining('value="a b"')]);
  });
});

describe('a document', () => {
  test('downloads for operators as an attachment that cannot run, with an audit row', async ({
    deps,
    operators: { support },
    waiting,
  }) => {
    const [document] = (await readApplication(deps.sql, waiting)).documents;
    const { status, headers, body } = await support.get(
      `${pathOf(waiting)}/documents/${document?.documentId}`,
    );
    expect([status, body]).toEqual([200, pdf('identity').toString('utf8')]);
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="identity\.pdf"/);
    expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    expect((await auditOf(deps.sql, waiting)).at(-1)).toMatchObject({
      action: 'document.read',
      subject: document?.documentId,
    });
  });

  test('under another merchant does not exist', async ({ deps, operators: { admin }, waiting }) => {
    const other = await aSignedUpMerchant(deps);
    await addDocument(deps, other, aDocument('bank'));
    const [document] = (await readApplication(deps.sql, other)).documents;
    const { status } = await admin.get(`${pathOf(waiting)}/documents/${document?.documentId}`);
    expect(status).toBe(404);
  });
});

describe('while an application waits for its decision', () => {
  test('the page shows the documents themselves, and only then allows files inside it', async ({
    deps,
    operators: { support, otherAdmin },
    decide,
  }) => {
    const merchantId = await aSignedUpMerchant(deps);
    await complete(deps, merchantId);
    await addDocument(deps, merchantId, { kind: 'identity', fileName: 'face.png', content: PNG });
    await submit(deps, merchantId);
    const { documents } = await readApplication(deps.sql, merchantId);
    const pathOfFile = (name: string) => {
      const document = documents.find(({ fileName }) => fileName === name);
      return `${pathOf(merchantId)}/documents/${document?.documentId}`;
    };
    const shown = await support.get(pathOf(merchantId));
    expect(shown.body).toContain(`<object data="${pathOfFile('bank.pdf')}?shown=here" type="app`);
    expect(shown.body).toContain(
      `<img src="${pathOfFile('face.png')}" loading="lazy" alt="Proof of`,
    );
    expect(shown.headers.get('content-security-policy')).toContain("object-src 'self'");

    const embedded = (name: string) => support.get(`${pathOfFile(name)}?shown=here`);
    const ofPdf = (await embedded('bank.pdf')).headers;
    expect(ofPdf.get('content-disposition')).toMatch(/^inline; filename="bank\.pdf"/);
    expect(ofPdf.get('content-type')).toBe('application/pdf');
    expect(ofPdf.get('content-security-policy')).toContain("frame-ancestors 'self'");
    expect(ofPdf.get('x-frame-options')).toBe('SAMEORIGIN');
    const ofPng = (await embedded('face.png')).headers;
    expect(ofPng.get('content-disposition')).toMatch(/^attachment/);
    expect(ofPng.get('content-security-policy')).toBe("sandbox; default-src 'none'");

    await carriedOutBy(otherAdmin, await decide(merchantId, 'approve'));
    const decided = await support.get(pathOf(merchantId));
    expect(decided.body).not.toContain('<object');
    expect(decided.headers.get('content-security-policy')).not.toContain('object-src');
  });

  test('the page says what has changed since the earlier submission, field by field', async ({
    deps,
    operators: { support, finance },
    service,
    waiting,
    decide,
  }) => {
    expect((await support.get(pathOf(waiting))).body).not.toContain('Changed since');
    await decide(waiting, 'reject', 'The address is wrong');
    const [user] = await deps.sql<{ userId: string }[]>`
      SELECT user_id FROM users WHERE merchant_id = ${waiting}`;
    const cookie = await signIn(deps.sql, user!.userId);
    const owner = browserOf(service.origin, { cookie });
    const own = async () => textOf((await owner.get('/dashboard/sandbox/onboarding')).body);
    expect(await own()).toContain('Nothing has changed.');
    const street = '12 <b>Brigade</b> Road';
    await saveBusiness(deps, waiting, { ...A_COMPANY, street, gstin: '' });
    const accountNumber = '60200223456789';
    const again = { accountNumber, accountNumberAgain: accountNumber };
    await saveBank(deps, waiting, { ...AN_ACCOUNT, ...again });
    const { documents } = await readApplication(deps.sql, waiting);
    const identity = documents.find(({ kind }) => kind === 'identity');
    await removeDocument(deps, waiting, identity?.documentId ?? '');
    await addDocument(deps, waiting, aDocument('identity', 'another scan'));
    const rows = [
      'Registered address 507, Koramangala 1st block 12 &lt;b>Brigade&lt;/b> Road',
      'GSTIN 29AAGCB7383J1Z4 –',
      'Account number •••• 6789 •••• 6789, entered again',
      'Proof of identity identity.pdf identity.pdf',
    ];
    for (const row of rows) expect(await own()).toContain(row);
    await submit(deps, waiting);
    const { body } = await finance.get(pathOf(waiting));
    for (const row of rows) expect(textOf(body)).toContain(row);
    const [changes = ''] =
      /<section[^>]*aria-labelledby="changes"[^]*?<\/section>/.exec(body) ?? [];
    expect(changes.match(/<tr>/g)).toHaveLength(1 + rows.length);
    // What is kept of a submission has no number and no content.
    const [kept] = await deps.sql`
      SELECT submitted::text || submitted_before::text AS texts FROM merchant_applications
      WHERE merchant_id = ${waiting}`;
    expect(kept?.['texts']).not.toContain(accountNumber);
    expect(kept?.['texts']).not.toContain(AN_ACCOUNT.accountNumber);
  });
});

test('the page has what the merchant has taken in production, and what of it was disputed', async ({
  service: { sql },
  operators: { support },
}) => {
  const merchantId = await writeMerchant(sql);
  const day = (before: number) => new Date(Date.now() - before * 24 * HOUR_MS);
  const production = { environment: 'production', amountPaise: 50_000 } as const;
  const orders: PastOrder[] = [
    { ...production, status: 'COMPLETED', createdAt: day(100) },
    { ...production, status: 'REFUNDED', createdAt: day(90), dispute: { raisedAt: day(89) } },
    { ...production, status: 'PAID', createdAt: day(3) },
    { ...production, status: 'DISPUTE_OPEN', createdAt: day(2), dispute: { raisedAt: day(1) } },
    // Never paid, or not in production.
    { ...production, status: 'ACCEPTED', createdAt: day(2) },
    { ...production, status: 'CANCELLED', createdAt: day(2) },
    { environment: 'sandbox', status: 'COMPLETED', createdAt: day(2) },
  ];
  await writePastOrders(sql, merchantId, orders);
  await sql`
    INSERT INTO ledger_days (merchant_id, environment, day, debit_account, credit_account, amount_paise)
    SELECT ${merchantId}, 'production', day, debit::ledger_account, credit::ledger_account, paise
    FROM (VALUES
      (${day(100)}::date, 'gateway_clearing', 'merchant_held', 100000),
      (${day(90)}::date, 'merchant_held', 'refunds', 50000),
      (${day(3)}::date, 'gateway_clearing', 'merchant_held', 100000)) AS line (day, debit, credit, paise)`;
  const text = textOf((await support.get(pathOf(merchantId))).body);
  expect(text).toContain('In all The last 30 days Paid orders 4 2 Paid ₹2,000.00 ₹1,000.00');
  expect(text).toContain('Disputes 2 1 Disputes per paid order 50% 50%');
  expect(text).toContain('Refunded orders 1 0 Refunded ₹500.00 ₹0.00');
});

test('a merchant that does not exist is not found, and no page is for merchants', async ({
  operators: { admin },
  owner,
  waiting,
}) => {
  expect((await admin.get(pathOf('mer_unknown'))).status).toBe(404);
  expect((await owner.get('/operator/merchants')).status).toBe(404);
  expect((await owner.get(pathOf(waiting))).status).toBe(404);
  expect((await owner.post(`${pathOf(waiting)}/decision`, { change: 'approve' })).status).toBe(404);
});
