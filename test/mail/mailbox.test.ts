import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import type { SignInCode } from '../../dev/mailbox/pages.ts';
import { startSmtpServer } from '../../dev/mailbox/smtp.ts';
import { createMailStore } from '../../dev/mailbox/store.ts';
import { createMailboxServer } from '../../dev/mailbox/web.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { createMailer } from '../../src/mail/mailer.ts';
import { FROM } from './mail-test.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'merchant-orders-mailbox-'));
const folder = join(dataDir, 'mails');
const smtpPort = await freePort();
const store = createMailStore(folder);
const smtp = await startSmtpServer(
  { host: '127.0.0.1', port: smtpPort },
  { store, log: pino({ level: 'silent' }) },
);
const codes: SignInCode[] = [];
const web = createMailboxServer(store, () => codes).listen(0, '127.0.0.1');
await once(web, 'listening');
const { port } = web.address() as AddressInfo;
const url = `http://127.0.0.1:${port}`;
afterAll(async () => {
  web.close();
  web.closeAllConnections();
  await smtp.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const mailer = createMailer({
  smtpUrl: `smtp://127.0.0.1:${smtpPort}?ignoreTLS=true`,
  mailFrom: FROM,
  requiresTls: true,
});
const send = (mailId: string, subject: string, text: string) =>
  mailer.send({
    mailId,
    createdAt: new Date(),
    to: 'asha@example.com',
    subject,
    paragraphs: [text],
  });
const read = async (path: string) => {
  const response = await fetch(`${url}${path}`);
  return { status: response.status, headers: response.headers, body: await response.text() };
};
const pathsIn = (body: string) =>
  [...body.matchAll(/href="(\/mails\/[^"]+)"/g)].map(([, path]) => path);

test('without mails the page says so', async () => {
  expect(await read('/')).toMatchObject({
    status: 200,
    body: expect.stringContaining('No mails yet'),
  });
});

test('mails are listed with the newest first, each with its text', async () => {
  expect(await send('one', 'First', 'The text of the first')).toEqual({ outcome: 'accepted' });
  await send('two', 'पासवर्ड', 'The text of the second');
  const { body } = await read('/');
  expect(body.indexOf('पासवर्ड')).toBeLessThan(body.indexOf('First'));
  const [newest = ''] = pathsIn(body);
  const mail = await read(newest);
  expect(mail.body).toContain('The text of the second');
  expect(mail.body).toContain('asha@example.com');
});

test('addresses in a mail are links, and everything else is text', async () => {
  await send(
    'three',
    '<b>Reset</b>',
    'Open <https://a.example/reset?a=1&b="2"> or (http://127.0.0.1:8080/x).\n<script>alert(1)</script> javascript:alert(1)',
  );
  const list = await read('/');
  const [newest = ''] = pathsIn(list.body);
  const { body, headers } = await read(newest);
  const links = [...body.matchAll(/<a href="(http[^"]+)"/g)].map(([, link]) => link);
  expect(links).toEqual(['https://a.example/reset?a=1&amp;b=', 'http://127.0.0.1:8080/x']);
  expect(body + list.body).not.toMatch(/<script|<b>|href="javascript/);
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('cache-control')).toBe('no-store');
});

test('mails are files that only their owner can read, and are there after a restart', async () => {
  const files = readdirSync(folder);
  expect(files).toHaveLength(3);
  for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  const [first = ''] = files.toSorted();
  expect(readFileSync(join(folder, first), 'utf8')).toContain('Message-ID: <one@payments.example>');
  expect(await createMailStore(folder).latest(2)).toMatchObject([
    { subject: '<b>Reset</b>' },
    { subject: 'पासवर्ड' },
  ]);
});

test.for(['/mails/none', '/mails/..%2Fsecrets', '/mails/..%2F..%2Fetc%2Fpasswd'])(
  'there is no mail at %s',
  async (path) => {
    expect(await read(path)).toMatchObject({ status: 404 });
  },
);

test('the two-factor codes of demo users are shown, where there are some', async () => {
  expect((await read('/')).body).not.toContain('Sign-in codes');
  codes.push({ email: 'operator@example.com', code: '012345', validForSeconds: 17 });
  const { body } = await read('/');
  for (const part of ['Sign-in codes', '012 345', 'operator@example.com, for 17 s']) {
    expect(body).toContain(part);
  }
});

test('a foreign name that resolves to this machine is refused', async () => {
  const refused = request(url, { headers: { host: `evil.example:${port}` } });
  refused.end();
  const [response] = (await once(refused, 'response')) as [{ statusCode: number; resume(): void }];
  response.resume();
  expect(response.statusCode).toBe(403);
});
