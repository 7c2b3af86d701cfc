import { describe, expect } from 'vitest';
import { checkFile } from '../../src/onboarding/file.ts';
import {
  addDocument,
  openDocument,
  readApplication,
  removeDocument,
} from '../../src/onboarding/public.ts';
import { auditOf } from '../support/audit.ts';
import { aDocument, aSignedUpMerchant, pdf, PNG } from '../support/applications.ts';
import { onboardingTest, OPERATOR } from './onboarding-test.ts';

const test = onboardingTest();

const MAX_BYTES = 5 * 1024 * 1024;
const JPEG = Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex');

/** The content with a part of it, as Latin-1, changed. */
const replaced = (content: Buffer, from: string, to: string) =>
  Buffer.from(content.toString('latin1').replace(from, to), 'latin1');
/** A PDF after something else. */
const after = (start: string) => Buffer.concat([Buffer.from(start, 'latin1'), pdf('x')]);

describe('a document', () => {
  test('is stored sealed and opens byte for byte', async ({ deps, applicant }) => {
    const content = pdf('my passport, number Z1234567', 200_000);
    await addDocument(deps, applicant, { kind: 'identity', fileName: 'Passport.PDF', content });
    const [document] = (await readApplication(deps.sql, applicant)).documents;
    expect(document).toMatchObject({
      kind: 'identity',
      fileName: 'Passport.pdf',
      mediaType: 'application/pdf',
      sizeBytes: 200_000,
    });
    const [row] = await deps.sql<{ contentSealed: Buffer }[]>`
      SELECT content_sealed FROM merchant_documents WHERE merchant_id = ${applicant}`;
    expect(row?.contentSealed.includes('passport')).toBe(false);
    const opened = await openDocument(deps, applicant, document?.documentId ?? '');
    expect(opened).toEqual({ fileName: 'Passport.pdf', mediaType: 'application/pdf', content });
  });

  test('that is opened leaves an audit row with who read it and from where', async ({
    deps,
    applicant,
  }) => {
    await addDocument(deps, applicant, aDocument('bank'));
    const [document] = (await readApplication(deps.sql, applicant)).documents;
    await openDocument({ ...deps, actor: OPERATOR }, applicant, document?.documentId ?? '');
    expect((await auditOf(deps.sql, applicant)).at(-1)).toMatchObject({
      actor: OPERATOR.name,
      action: 'document.read',
      subject: document?.documentId,
      details: { kind: 'bank' },
    });
    const [row] = await deps.sql`
      SELECT address FROM audit_log WHERE action = 'document.read' AND merchant_id = ${applicant}`;
    expect(row).toEqual({ address: OPERATOR.address });
  });

  test('of another merchant does not exist, and no attempt is an audit row', async ({
    deps,
    applicant,
  }) => {
    const other = await aSignedUpMerchant(deps);
    await addDocument(deps, other, aDocument('bank'));
    const [document] = (await readApplication(deps.sql, other)).documents;
    for (const act of [openDocument, removeDocument]) {
      await expect(act(deps, applicant, document?.documentId ?? '')).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: 'Document not found',
      });
    }
    const actions = [...(await auditOf(deps.sql, applicant)), ...(await auditOf(deps.sql, other))];
    expect(actions.map(({ action }) => action)).toEqual([
      'merchant.create',
      'merchant.create',
      'application.document.add',
    ]);
  });

  test('moved to another merchant in the database does not open', async ({
    database,
    deps,
    applicant,
  }) => {
    const other = await aSignedUpMerchant(deps);
    await addDocument(deps, other, aDocument('bank'));
    const [document] = (await readApplication(deps.sql, other)).documents;
    await database.sql`UPDATE merchant_documents SET merchant_id = ${applicant} WHERE merchant_id = ${other}`;
    await expect(openDocument(deps, applicant, document?.documentId ?? '')).rejects.toThrow(
      'The sealed secret was changed',
    );
  });

  test('that is removed leaves no content', async ({ deps, applicant }) => {
    await addDocument(deps, applicant, aDocument('bank'));
    const [document] = (await readApplication(deps.sql, applicant)).documents;
    await removeDocument(deps, applicant, document?.documentId ?? '');
    expect(
      await deps.sql`
      SELECT FROM merchant_documents WHERE merchant_id = ${applicant}`,
    ).toHaveLength(0);
    expect((await auditOf(deps.sql, applicant)).at(-1)).toMatchObject({
      action: 'application.document.remove',
      subject: document?.documentId,
      details: { kind: 'bank', sha256: document?.sha256 },
    });
  });

  test('may prove two things: the same file is stored for each', async ({ deps, applicant }) => {
    await addDocument(deps, applicant, aDocument('bank', 'one statement'));
    await addDocument(deps, applicant, aDocument('business', 'one statement'));
    expect((await readApplication(deps.sql, applicant)).documents).toHaveLength(2);
  });
});

describe('the content decides', () => {
  test.for([
    ['a PDF', pdf('x'), 'application/pdf', 'a.pdf'],
    ['a PNG', PNG, 'image/png', 'a.png'],
    ['a JPEG', JPEG, 'image/jpeg', 'a.jpg'],
    ['a PDF that continues as HTML', pdf('<script>alert(1)</script>'), 'application/pdf', 'a.pdf'],
  ] as const)(
    '%s is accepted under any name',
    async ([_what, content, mediaType, name], { deps, applicant }) => {
      await addDocument(deps, applicant, { kind: 'bank', fileName: 'a.exe', content });
      const [document] = (await readApplication(deps.sql, applicant)).documents;
      expect([document?.mediaType, document?.fileName]).toEqual([mediaType, name]);
    },
  );

  test.for([
    ['PDF', pdf('x'), '%PDF-'.length],
    ['PNG', PNG, 16],
    ['JPEG', JPEG, 4],
  ] as const)('a %s that ends within its signature is refused', ([_what, content, length]) => {
    for (let bytes = 1; bytes < length; bytes += 1) {
      expect(() => checkFile(content.subarray(0, bytes), 'a.pdf')).toThrow('must be a PDF');
    }
    expect(checkFile(content.subarray(0, length), 'a.pdf').mediaType).toBeDefined();
  });

  const html = Buffer.from('<!doctype html><script>alert(1)</script>');
  test.for([
    ['nothing', Buffer.alloc(0), 'Choose a file; this one is empty'],
    ['HTML', html, 'The file must be a PDF, a JPEG or a PNG by its content'],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'must be a PDF'],
    ['a GIF', Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00;'), 'must be a PDF'],
    ['a ZIP', Buffer.from('504b0304140000000000', 'hex'), 'must be a PDF'],
    ['a program', Buffer.from('4d5a90000300000004000000ffff0000', 'hex'), 'must be a PDF'],
    ['text', Buffer.from('PDF'), 'must be a PDF'],
    ['HTML before a PDF', Buffer.concat([html, pdf('x')]), 'must be a PDF'],
    ['a GIF before a PDF', after('GIF89a'), 'must be a PDF'],
    ['a script before a PDF', after('/*'), 'must be a PDF'],
    ['a ZIP before a PDF', after('PK\x03\x04'), 'must be a PDF'],
    ['a byte order mark before a PDF', after('\xef\xbb\xbf'), 'must be a PDF'],
    ['an ID3 tag before a PDF', after('ID3\x04\0\0\0\0\0\0'), 'must be a PDF'],
    ['a PNG whose line ends a transfer has changed', replaced(PNG, '\r\n', '\n'), 'must be a PDF'],
    ['a PNG that begins with another chunk', replaced(PNG, 'IHDR', 'iTXt'), 'must be a PDF'],
    ['a JPEG-LS', replaced(JPEG, '\xff\xe0', '\xff\xf7'), 'must be a PDF'],
    ['5 MB and a byte', pdf('x', MAX_BYTES + 1), 'The file is larger than 5 MB'],
  ] as const)(
    '%s is refused, whatever it is called',
    async ([_what, content, message], { deps, applicant }) => {
      const adding = addDocument(deps, applicant, {
        kind: 'bank',
        fileName: 'cheque.pdf',
        content,
      });
      await expect(adding).rejects.toMatchObject({
        code: 'BAD_REQUEST',
        message: expect.stringContaining(message),
      });
      expect((await readApplication(deps.sql, applicant)).documents).toEqual([]);
    },
  );

  test('5 MB are accepted', async ({ deps, applicant }) => {
    const content = pdf('x', MAX_BYTES);
    await addDocument(deps, applicant, { kind: 'bank', fileName: 'a.pdf', content });
    const [document] = (await readApplication(deps.sql, applicant)).documents;
    expect(document?.sizeBytes).toBe(MAX_BYTES);
    const opened = await openDocument(deps, applicant, document?.documentId ?? '');
    expect(opened.content.equals(content)).toBe(true);
  });
});

test.for([
  ['../../etc/passwd', 'passwd.pdf'],
  ['C:\\Users\\Asha\\Cheque.PDF', 'Cheque.pdf'],
  ['आधार कार्ड.jpeg', 'आधार कार्ड.pdf'],
  ['a\u202Efdp.exe', 'a_fdp.pdf'],
  ['line\r\nX-Evil: 1.pdf', 'line__X-Evil_ 1.pdf'],
  ['"><script>.pdf', '___script_.pdf'],
  ['.htaccess', 'document.pdf'],
  ['...   ', 'document.pdf'],
  ['', 'document.pdf'],
  ['a..b   c.pdf', 'a.b c.pdf'],
  [`${'long'.repeat(50)}.pdf`, `${'long'.repeat(20)}.pdf`],
] as const)('the name %j is stored as %j', async ([fileName, stored], { deps, applicant }) => {
  await addDocument(deps, applicant, { kind: 'bank', fileName, content: pdf('x') });
  const [document] = (await readApplication(deps.sql, applicant)).documents;
  expect(document?.fileName).toBe(stored);
});
