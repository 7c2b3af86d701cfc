import { describe, expect } from 'vitest';
import {
  addDocument,
  decideMerchant,
  readApplication,
  removeDocument,
  submitApplication,
} from '../../src/onboarding/public.ts';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { auditOf } from '../support/audit.ts';
import type { TestDatabase } from '../support/database.ts';
import { untilBlocked } from '../support/locks.ts';
import { aDocument, complete, seenNow, submit } from '../support/applications.ts';
import { onboardingTest, OPERATOR } from './onboarding-test.ts';

const test = onboardingTest();

/**
 * Starts both calls while the merchant's row is locked, so that each has read the state from before
 * the other one; then the first one's statement gets the row first.
 *
 * @returns for each, `done` or the message of its refusal
 */
async function atOnce(
  { sql }: TestDatabase,
  merchantId: string,
  ...calls: (() => Promise<unknown>)[]
): Promise<string[]> {
  const { running } = await sql.begin(async (transaction) => {
    await transaction`SELECT FROM merchants WHERE merchant_id = ${merchantId} FOR UPDATE`;
    const started: Promise<string>[] = [];
    for (const call of calls) {
      started.push(
        call().then(
          () => 'done',
          (error: unknown) => (error instanceof Error ? error.message : 'unknown'),
        ),
      );
      await untilBlocked({ sql }, 'UPDATE merchants', started.length);
    }
    return { running: started };
  });
  return Promise.all(running);
}

const CHANGED = expect.stringContaining('has changed since you opened');

describe('a submission and a decision at the same moment', () => {
  test('rejected first: the submission is refused, so the merchant reads the reason', async ({
    database,
    deps,
    applicant,
  }) => {
    await complete(deps, applicant);
    const seen = await seenNow(deps.sql, applicant);
    const results = await atOnce(
      database,
      applicant,
      () => changeMerchantStatus(deps, applicant, 'reject', { reason: 'no' }),
      () => submitApplication(deps, applicant, seen),
    );
    expect(results).toEqual(['done', CHANGED]);
    expect(await readApplication(deps.sql, applicant)).toMatchObject({
      state: 'rejected',
      statusReason: 'no',
      submissions: 0,
    });
  });

  test('submitted first: the rejection of the draft is refused, so the operator reads it', async ({
    database,
    deps,
    applicant,
  }) => {
    await complete(deps, applicant);
    const seenVersion = await seenNow(deps.sql, applicant);
    const results = await atOnce(
      database,
      applicant,
      () => submitApplication(deps, applicant, seenVersion),
      () => decideMerchant(deps, applicant, { change: 'reject', reason: 'no', seenVersion }),
    );
    expect(results).toEqual(['done', CHANGED]);
    expect((await readApplication(deps.sql, applicant)).state).toBe('under_review');
  });

  test('an approval of an earlier submission does not approve the next one', async ({
    deps,
    applicant,
  }) => {
    await complete(deps, applicant);
    await submit(deps, applicant);
    const seenVersion = await seenNow(deps.sql, applicant);
    await decideMerchant(deps, applicant, { change: 'reject', reason: 'unreadable', seenVersion });
    await submit(deps, applicant);
    const stale = decideMerchant(deps, applicant, { change: 'approve', reason: 'ok', seenVersion });
    await expect(stale).rejects.toMatchObject({ code: 'INVALID_STATE', message: CHANGED });
    expect((await readApplication(deps.sql, applicant)).state).toBe('under_review');
  });
});

describe('an upload and a submission at the same moment', () => {
  test('uploaded first: the submission is refused, because it was not of this document', async ({
    database,
    deps,
    applicant,
  }) => {
    await complete(deps, applicant);
    const seen = await seenNow(deps.sql, applicant);
    const results = await atOnce(
      database,
      applicant,
      () => addDocument(deps, applicant, aDocument('bank', 'more')),
      () => submitApplication(deps, applicant, seen),
    );
    expect(results).toEqual(['done', CHANGED]);
    const { state, documents } = await readApplication(deps.sql, applicant);
    expect([state, documents.length]).toEqual(['draft', 4]);
  });

  test('submitted first: the upload is refused', async ({ database, deps, applicant }) => {
    await complete(deps, applicant);
    const seen = await seenNow(deps.sql, applicant);
    const results = await atOnce(
      database,
      applicant,
      () => submitApplication(deps, applicant, seen),
      () => addDocument(deps, applicant, aDocument('bank', 'more')),
    );
    expect(results).toEqual(['done', expect.stringContaining('is under review')]);
    expect((await readApplication(deps.sql, applicant)).documents).toHaveLength(3);
  });

  test('a document removed first keeps the incomplete application from being submitted', async ({
    database,
    deps,
    applicant,
  }) => {
    await complete(deps, applicant);
    const seen = await seenNow(deps.sql, applicant);
    const [document] = (await readApplication(deps.sql, applicant)).documents;
    const results = await atOnce(
      database,
      applicant,
      () => removeDocument(deps, applicant, document?.documentId ?? ''),
      () => submitApplication(deps, applicant, seen),
    );
    expect(results).toEqual(['done', CHANGED]);
    expect((await readApplication(deps.sql, applicant)).state).toBe('draft');
  });
});

describe('two of the same at the same moment', () => {
  test('of two uploads when nine documents are there, one is stored', async ({
    database,
    deps,
    applicant,
  }) => {
    for (let number = 1; number <= 9; number += 1) {
      await addDocument(deps, applicant, aDocument('identity', `page ${number}`));
    }
    const results = await atOnce(
      database,
      applicant,
      () => addDocument(deps, applicant, aDocument('bank')),
      () => addDocument(deps, applicant, aDocument('business')),
    );
    expect(results.toSorted()).toEqual([
      'An application has at most 10 documents; remove one first',
      'done',
    ]);
    expect((await readApplication(deps.sql, applicant)).documents).toHaveLength(10);
  });

  test('of fifteen uploads ten are stored, each with its audit row', async ({
    deps,
    applicant,
  }) => {
    const uploads = Array.from({ length: 15 }, (_, number) =>
      addDocument(deps, applicant, aDocument('identity', `page ${number}`)),
    );
    const results = await Promise.allSettled(uploads);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect((await readApplication(deps.sql, applicant)).documents).toHaveLength(10);
    const actions = (await auditOf(deps.sql, applicant)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'application.document.add')).toHaveLength(10);
  });

  test('the same file uploaded by a double click is stored once', async ({ deps, applicant }) => {
    const upload = () => addDocument(deps, applicant, aDocument('bank'));
    await Promise.all([upload(), upload(), upload()]);
    await upload();
    expect((await readApplication(deps.sql, applicant)).documents).toHaveLength(1);
  });

  test('a double click removes a document once', async ({ database, deps, applicant }) => {
    await addDocument(deps, applicant, aDocument('bank'));
    const [document] = (await readApplication(deps.sql, applicant)).documents;
    const remove = () => removeDocument(deps, applicant, document?.documentId ?? '');
    const results = await atOnce(database, applicant, remove, remove);
    expect(results).toEqual(['done', 'done']);
    const actions = (await auditOf(deps.sql, applicant)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'application.document.remove')).toHaveLength(1);
  });

  test('of two submissions one is made', async ({ database, deps, applicant }) => {
    await complete(deps, applicant);
    const seen = await seenNow(deps.sql, applicant);
    const submitSeen = () => submitApplication(deps, applicant, seen);
    const results = await atOnce(database, applicant, submitSeen, submitSeen);
    expect(results).toEqual(['done', CHANGED]);
    expect((await readApplication(deps.sql, applicant)).submissions).toBe(1);
  });

  test('of two operators’ decisions the first one counts', async ({
    database,
    deps,
    applicant,
  }) => {
    await complete(deps, applicant);
    await submit(deps, applicant);
    const seenVersion = await seenNow(deps.sql, applicant);
    const mailsBefore = await deps.sql`SELECT FROM mails`;
    const decide = (change: 'approve' | 'reject') => () =>
      decideMerchant({ ...deps, actor: OPERATOR }, applicant, {
        change,
        reason: 'so',
        seenVersion,
      });
    const results = await atOnce(database, applicant, decide('reject'), decide('approve'));
    expect(results).toEqual(['done', CHANGED]);
    expect((await readApplication(deps.sql, applicant)).state).toBe('rejected');
    const mails = await deps.sql`SELECT FROM mails`;
    expect(mails).toHaveLength(mailsBefore.length + 1);
  });
});
