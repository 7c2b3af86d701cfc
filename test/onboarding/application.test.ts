import { describe, expect } from 'vitest';
import type { ValidationError } from '../../src/http/responses/errors.ts';
import type { BusinessForm, Step } from '../../src/onboarding/public.ts';
import {
  addDocument,
  missingOf,
  readApplication,
  removeDocument,
  saveBank,
  saveBusiness,
  submitApplication,
} from '../../src/onboarding/public.ts';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { auditOf } from '../support/audit.ts';
import {
  A_COMPANY,
  aDocument,
  AN_ACCOUNT,
  complete,
  seenNow,
  submit,
} from '../support/applications.ts';
import { onboardingTest, OPERATOR } from './onboarding-test.ts';

const test = onboardingTest();

describe('a draft', () => {
  test('begins empty and says what is missing in each step', async ({ deps, applicant }) => {
    const application = await readApplication(deps.sql, applicant);
    expect(application).toMatchObject({ state: 'draft', submissions: 0, documents: [] });
    const missing = missingOf(application);
    expect(missing.business).toHaveLength(8);
    expect(missing.business[0]).toBe('The legal name is missing');
    expect(missing.bank).toEqual([
      "The account holder's name is missing",
      'The bank account number is missing',
      'The IFSC is missing',
    ]);
    expect(missing.documents).toEqual([
      'Proof of identity is missing',
      'Proof of the business is missing',
      'Proof of the bank account is missing',
    ]);
  });

  test('is saved step by step, as identifiers are written and without blanks', async ({
    deps,
    applicant,
  }) => {
    await saveBusiness(deps, applicant, { legalName: '  Asha \r\n Textiles ' });
    await saveBank(deps, applicant, { ifsc: ' hdfc 000-1234' });
    await saveBusiness(deps, applicant, { ...A_COMPANY, pan: 'aagcb 7383 j', pinCode: '560 034' });
    const { business, bank } = await readApplication(deps.sql, applicant);
    expect(business).toEqual({ ...A_COMPANY, phone: '9876543210' });
    expect(bank).toMatchObject({ accountHolder: null, accountLastFour: null, ifsc: 'HDFC0001234' });
  });

  test('may lose a field again', async ({ deps, applicant }) => {
    await saveBusiness(deps, applicant, A_COMPANY);
    await saveBusiness(deps, applicant, { ...A_COMPANY, gstin: '', city: ' ' });
    const application = await readApplication(deps.sql, applicant);
    expect(application.business).toMatchObject({ gstin: null, city: null });
    expect(missingOf(application).business).toEqual(['The city is missing']);
  });

  test('keeps nothing of a form with an error, and names each wrong field', async ({
    deps,
    applicant,
  }) => {
    const form = { ...A_COMPANY, pan: 'AAGPB7383J', gstin: 'X', phone: '1', pinCode: '0' };
    await expect(saveBusiness(deps, applicant, form)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      validationErrors: {
        pan: 'The fourth letter of this PAN is P; for "Company" it must be C',
        gstin: expect.stringContaining('15 letters and digits'),
        phone: expect.stringContaining('ten digits'),
        pinCode: expect.stringContaining('six digits'),
      },
    });
    const { business } = await readApplication(deps.sql, applicant);
    expect(Object.values(business).filter((value) => value !== null)).toEqual([]);
  });

  test.for([
    ['a kind that is not in the list', { businessKind: 'bank' }, 'businessKind'],
    ['a state that is not in the list', { region: 'Bavaria' }, 'region'],
    ['a name that is too long', { legalName: 'x'.repeat(201) }, 'legalName'],
    ['an address that is too long', { street: 'x'.repeat(101) }, 'street'],
    ['the GSTIN of another business', { pan: 'AAACH7409R', gstin: '29AAGCB7383J1Z4' }, 'gstin'],
  ] as const satisfies [string, BusinessForm, string][])(
    '%s is refused',
    async ([_what, form, field], { deps, applicant }) => {
      const saving = saveBusiness(deps, applicant, { ...A_COMPANY, ...form });
      await expect(saving).rejects.toMatchObject({
        validationErrors: { [field]: expect.any(String) },
      });
    },
  );

  test('with a PAN saved before the kind of business is checked again when both are there', async ({
    deps,
    applicant,
  }) => {
    await saveBusiness(deps, applicant, { pan: 'ABCPE1234F' });
    const { business } = await readApplication(deps.sql, applicant);
    expect(business.pan).toBe('ABCPE1234F');
    await expect(
      saveBusiness(deps, applicant, { pan: 'ABCPE1234F', businessKind: 'llp' }),
    ).rejects.toMatchObject({ validationErrors: { pan: expect.stringContaining('must be F') } });
  });

  test('of an unknown merchant is not found', async ({ deps }) => {
    for (const attempt of [
      () => readApplication(deps.sql, 'mer_unknown'),
      () => saveBusiness(deps, 'mer_unknown', A_COMPANY),
      () => saveBank(deps, 'mer_unknown', AN_ACCOUNT),
      () => addDocument(deps, 'mer_unknown', aDocument('bank')),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
  });
});

describe('a bank account number', () => {
  test('is stored sealed; its last four digits are shown', async ({ deps, applicant }) => {
    await saveBank(deps, applicant, AN_ACCOUNT);
    const { bank } = await readApplication(deps.sql, applicant);
    expect(bank).toMatchObject({
      accountHolder: AN_ACCOUNT.accountHolder,
      accountLastFour: '6789',
      ifsc: AN_ACCOUNT.ifsc,
    });
    const [row] =
      await deps.sql`SELECT * FROM merchant_applications WHERE merchant_id = ${applicant}`;
    expect(JSON.stringify(row)).not.toContain(AN_ACCOUNT.accountNumber);
    expect(JSON.stringify(await auditOf(deps.sql, applicant))).not.toContain('6789');
  });

  test('stays when the form is saved again without it', async ({ deps, applicant }) => {
    await saveBank(deps, applicant, AN_ACCOUNT);
    await saveBank(deps, applicant, { accountHolder: 'Asha', ifsc: 'SBIN0000001' });
    const { bank } = await readApplication(deps.sql, applicant);
    expect(bank).toMatchObject({
      accountHolder: 'Asha',
      accountLastFour: '6789',
      ifsc: 'SBIN0000001',
    });
  });

  test.for([
    [{ accountNumberAgain: '50100123456788' }, 'accountNumberAgain'],
    [{ accountNumberAgain: '' }, 'accountNumberAgain'],
    [{ accountNumber: '' }, 'accountNumberAgain'],
    [{ accountNumber: '12345678', accountNumberAgain: '12345678' }, 'accountNumber'],
    [{ ifsc: 'HDFC1001234' }, 'ifsc'],
    [{ accountHolder: 'x'.repeat(201) }, 'accountHolder'],
  ] as const)('is refused with one violation: %j', async ([change, field], { deps, applicant }) => {
    await expect(saveBank(deps, applicant, { ...AN_ACCOUNT, ...change })).rejects.toSatisfy(
      (error: ValidationError) => Object.keys(error.validationErrors).join() === field,
    );
  });
});

describe('submitting', () => {
  const leftOut: [Step, string][] = [
    ['business', 'UPDATE merchant_applications SET pan = NULL WHERE merchant_id = $1'],
    ['business', "UPDATE merchant_applications SET business_kind = 'trust' WHERE merchant_id = $1"],
    ['business', "UPDATE merchant_applications SET pan = 'AAACH7409R' WHERE merchant_id = $1"],
    ['bank', 'UPDATE merchant_applications SET ifsc = NULL WHERE merchant_id = $1'],
    ['documents', "DELETE FROM merchant_documents WHERE kind = 'bank' AND merchant_id = $1"],
  ];
  test.for(leftOut)(
    'needs a complete application: %s, %s',
    async ([step, change], { deps, applicant, database }) => {
      await complete(deps, applicant);
      await database.sql.unsafe(change, [applicant]);
      const application = await readApplication(deps.sql, applicant);
      const missing = missingOf(application);
      expect(
        Object.entries(missing).flatMap(([name, what]) => (what.length > 0 ? [name] : [])),
      ).toEqual([step]);
      await expect(submit(deps, applicant)).rejects.toThrow('The application is not complete yet');
      expect((await readApplication(deps.sql, applicant)).state).toBe('draft');
    },
  );

  test('an individual needs no proof of a business', async ({ deps, applicant }) => {
    await saveBusiness(deps, applicant, {
      ...A_COMPANY,
      businessKind: 'individual',
      pan: 'ABCPE1234F',
      gstin: '',
    });
    await saveBank(deps, applicant, AN_ACCOUNT);
    await addDocument(deps, applicant, aDocument('identity'));
    await addDocument(deps, applicant, aDocument('bank'));
    await submit(deps, applicant);
    expect((await readApplication(deps.sql, applicant)).state).toBe('under_review');
  });

  test('puts the application under review, with an audit row that names what was submitted', async ({
    deps,
    applicant,
  }) => {
    await complete(deps, applicant);
    await submit(deps, applicant);
    const application = await readApplication(deps.sql, applicant);
    expect(application).toMatchObject({ state: 'under_review', status: 'PENDING', submissions: 1 });
    expect(application.submittedAt).toBeInstanceOf(Date);
    const audit = await auditOf(deps.sql, applicant);
    expect(audit.at(-1)).toMatchObject({
      actor: deps.actor.name,
      action: 'application.submit',
      details: {
        submission: 1,
        documents: application.documents.map(({ documentId }) => documentId),
      },
    });
  });

  test('ends editing until the decision', async ({ deps, applicant }) => {
    await complete(deps, applicant);
    await submit(deps, applicant);
    const before = await readApplication(deps.sql, applicant);
    const [document] = before.documents;
    for (const attempt of [
      () => saveBusiness(deps, applicant, A_COMPANY),
      () => saveBank(deps, applicant, AN_ACCOUNT),
      () => addDocument(deps, applicant, aDocument('bank', 'another')),
      () => removeDocument(deps, applicant, document?.documentId ?? ''),
      () => submit(deps, applicant),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'INVALID_STATE',
        message: 'The application is under review and cannot be changed until it is decided',
      });
    }
    expect(await readApplication(deps.sql, applicant)).toEqual(before);
  });

  test.for(['approve', 'suspend'] as const)(
    'is over after %s',
    async (change, { deps, applicant }) => {
      await complete(deps, applicant);
      await changeMerchantStatus(deps, applicant, 'approve');
      if (change === 'suspend') await changeMerchantStatus(deps, applicant, 'suspend');
      await expect(submit(deps, applicant)).rejects.toMatchObject({ code: 'INVALID_STATE' });
      await expect(saveBusiness(deps, applicant, A_COMPANY)).rejects.toMatchObject({
        code: 'INVALID_STATE',
      });
    },
  );

  test('works again after a rejection: the merchant is PENDING, and the history is kept', async ({
    deps,
    applicant,
  }) => {
    await complete(deps, applicant);
    await submit(deps, applicant);
    await changeMerchantStatus({ ...deps, actor: OPERATOR }, applicant, 'reject', {
      reason: 'The cheque is not readable',
    });
    expect(await readApplication(deps.sql, applicant)).toMatchObject({
      state: 'rejected',
      statusReason: 'The cheque is not readable',
    });
    const { documents } = await readApplication(deps.sql, applicant);
    const cheque = documents.find(({ kind }) => kind === 'bank');
    await removeDocument(deps, applicant, cheque?.documentId ?? '');
    await expect(submit(deps, applicant)).rejects.toThrow('not complete');
    await addDocument(deps, applicant, aDocument('bank', 'readable'));
    await submit(deps, applicant);
    expect(await readApplication(deps.sql, applicant)).toMatchObject({
      state: 'under_review',
      status: 'PENDING',
      statusReason: null,
      submissions: 2,
    });
    const actions = (await auditOf(deps.sql, applicant)).map(({ action }) => action);
    expect(actions.slice(-5)).toEqual([
      'application.submit',
      'merchant.reject',
      'application.document.remove',
      'application.document.add',
      'application.submit',
    ]);
  });

  test('needs the version that the merchant has seen', async ({ deps, applicant }) => {
    await complete(deps, applicant);
    const seen = await seenNow(deps.sql, applicant);
    await saveBank(deps, applicant, { ...AN_ACCOUNT, accountHolder: 'Another tab' });
    await expect(submitApplication(deps, applicant, seen)).rejects.toThrow(
      'The application has changed since you opened this page',
    );
    expect((await readApplication(deps.sql, applicant)).submissions).toBe(0);
  });
});

describe('the audit log', () => {
  test('has one row for each change and none for a refused one', async ({ deps, applicant }) => {
    await complete(deps, applicant);
    await saveBusiness(deps, applicant, { pan: 'wrong' }).catch(() => undefined);
    await submit(deps, applicant);
    await saveBusiness(deps, applicant, A_COMPANY).catch(() => undefined);
    const actions = (await auditOf(deps.sql, applicant)).map(({ action }) => action);
    expect(actions).toEqual([
      'merchant.create',
      'application.save',
      'application.save',
      'application.document.add',
      'application.document.add',
      'application.document.add',
      'application.submit',
    ]);
  });
});
