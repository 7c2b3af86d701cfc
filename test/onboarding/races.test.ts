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

/**
 * Starts both calls while the merchant's row is locked, so that each has read the state from before
 * the other one; then the first one's statement gets the row first.
 *
 * @returns for each, `done` or the message of its refusal
 */
async function callAtOnce(
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

const test = onboardingTest()
  .extend(
    'atOnce',
    ({ database, applicant }) =>
      (...calls: (() => Promise<unknown>)[]) =>
        callAtOnce(database, applicant, ...calls),
  )
  .extend(
    'read',
    ({ deps, applicant }) =>
      () =>
        readApplication(deps.sql, applicant),
  )
  /** What can be done to the applicant's complete draft, as its page was opened before. */
  .extend('draft', async ({ deps, applicant }) => {
    await complete(deps, applicant);
    const seenVersion = await seenNow(deps.sql, applicant);
    return {
      submit: () => submitApplication(deps, applicant, seenVersion),
      reject: () =>
        decideMerchant(deps, applicant, { change: 'reject', reason: 'no', seenVersion }),
      rejectFromTerminal: () => changeMerchantStatus(deps, applicant, 'reject', { reason: 'no' }),
      upload: () => addDocument(deps, applicant, aDocument('bank', 'more')),
    };
  });

describe('a submission and a decision at the same moment', () => {
  test('rejected first: the submission is refused, so the merchant reads the reason', async ({
    atOnce,
    read,
    draft: { rejectFromTerminal, submit: submitSeen },
  }) => {
    expect(await atOnce(rejectFromTerminal, submitSeen)).toEqual(['done', CHANGED]);
    const rejected = { state: 'rejected', statusReason: 'no', submissions: 0 };
    expect(await read()).toMatchObject(rejected);
  });

  test('submitted first: the rejection of the draft is refused, so the operator reads it', async ({
    atOnce,
    read,
    draft: { submit: submitSeen, reject },
  }) => {
    expect(await atOnce(submitSeen, reject)).toEqual(['done', CHANGED]);
    expect((await read()).state).toBe('under_review');
  });

  test('an approval of an earlier submission does not approve the next one', async ({
    deps,
    applicant,
    read,
  }) => {
    await complete(deps, applicant);
    await submit(deps, applicant);
    const seenVersion = await seenNow(deps.sql, applicant);
    await decideMerchant(deps, applicant, { change: 'reject', reason: 'unreadable', seenVersion });
    await submit(deps, applicant);
    const stale = decideMerchant(deps, applicant, { change: 'approve', reason: 'ok', seenVersion });
    await expect(stale).rejects.toMatchObject({ code: 'INVALID_STATE', message: CHANGED });
    expect((await read()).state).toBe('under_review');
  });
});

describe('an upload and a submission at the same moment', () => {
  test('uploaded first: the submission is refused, because it was not of this document', async ({
    atOnce,
    read,
    draft: { upload, submit: submitSeen },
  }) => {
    expect(await atOnce(upload, submitSeen)).toEqual(['done', CHANGED]);
    const { state, documents } = await read();
    expect([state, documents.length]).toEqual(['draft', 4]);
  });

  test('submitted first: the upload is refused', async ({
    atOnce,
    read,
    draft: { submit: submitSeen, upload },
  }) => {
    const results = await atOnce(submitSeen, upload);
    expect(results).toEqual(['done', expect.stringContaining('is under review')]);
    expect((await read()).documents).toHaveLength(3);
  });

  test('a document removed first keeps the incomplete application from being submitted', async ({
    deps,
    applicant,
    atOnce,
    read,
    draft: { submit: submitSeen },
  }) => {
    const [document] = (await read()).documents;
    const remove = () => removeDocument(deps, applicant, document?.documentId ?? '');
    expect(await atOnce(remove, submitSeen)).toEqual(['done', CHANGED]);
    expect((await read()).state).toBe('draft');
  });
});

describe('two of the same at the same moment', () => {
  test('of two uploads when nine documents are there, one is stored', async ({
    deps,
    applicant,
    atOnce,
    read,
  }) => {
    for (let number = 1; number <= 9; number += 1) {
      await addDocument(deps, applicant, aDocument('identity', `page ${number}`));
    }
    const results = await atOnce(
      () => addDocument(deps, applicant, aDocument('bank')),
      () => addDocument(deps, applicant, aDocument('business')),
    );
    expect(results.toSorted()).toEqual([
      'An application has at most 10 documents; remove one first',
      'done',
    ]);
    expect((await read()).documents).toHaveLength(10);
  });

  test('of fifteen uploads ten are stored, each with its audit row', async ({
    deps,
    applicant,
    read,
  }) => {
    const uploads = Array.from({ length: 15 }, (_, number) =>
      addDocument(deps, applicant, aDocument('identity', `page ${number}`)),
    );
    const results = await Promise.allSettled(uploads);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect((await read()).documents).toHaveLength(10);
    const actions = (await auditOf(deps.sql, applicant)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'application.document.add')).toHaveLength(10);
  });

  test('the same file uploaded by a double click is stored once', async ({
    deps,
    applicant,
    read,
  }) => {
    const upload = () => addDocument(deps, applicant, aDocument('bank'));
    await Promise.all([upload(), upload(), upload()]);
    await upload();
    expect((await read()).documents).toHaveLength(1);
  });

  test('a double click removes a document once', async ({ deps, applicant, atOnce, read }) => {
    await addDocument(deps, applicant, aDocument('bank'));
    const [document] = (await read()).documents;
    const remove = () => removeDocument(deps, applicant, document?.documentId ?? '');
    expect(await atOnce(remove, remove)).toEqual(['done', 'done']);
    const actions = (await auditOf(deps.sql, applicant)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'application.document.remove')).toHaveLength(1);
  });

  test('of two submissions one is made', async ({ atOnce, read, draft }) => {
    expect(await atOnce(draft.submit, draft.submit)).toEqual(['done', CHANGED]);
    expect((await read()).submissions).toBe(1);
  });

  test('of two operators’ decisions the first one counts', async ({
    deps,
    applicant,
    atOnce,
    read,
  }) => {
    await complete(deps, applicant);
    await submit(deps, applicant);
    const seen = { reason: 'so', seenVersion: await seenNow(deps.sql, applicant) };
    const mailsBefore = await deps.sql`SELECT FROM mails`;
    const decide = (change: 'approve' | 'reject') => () =>
      decideMerchant({ ...deps, actor: OPERATOR }, applicant, { change, ...seen });
    expect(await atOnce(decide('reject'), decide('approve'))).toEqual(['done', CHANGED]);
    expect((await read()).state).toBe('rejected');
    const mails = await deps.sql`SELECT FROM mails`;
    expect(mails).toHaveLength(mailsBefore.length + 1);
  });
});
