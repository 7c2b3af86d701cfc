import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { simpleParser } from 'mailparser';
import { makePrivateFolder, writePrivateFile } from '../files/private-file.ts';

/** A mail as the page shows it. */
export interface StoredMail {
  /** The name of its file, without `.eml`. */
  id: string;
  from: string;
  to: string;
  subject: string;
  at: Date | undefined;
  text: string;
  html: string;
}

/** The mails of a developer's machine: one file for each, readable only by its owner. */
export interface MailStore {
  /** @returns the id of the mail */
  save(source: Buffer): string;
  /** The latest mails, the newest first. */
  latest(limit: number): Promise<StoredMail[]>;
  /** @returns undefined when there is no such mail */
  find(id: string): Promise<StoredMail | undefined>;
}

const FILE = /^([\w-]+)\.eml$/;

/** Creates a {@link MailStore} in a folder. */
export function createMailStore(folder: string): MailStore {
  makePrivateFolder(folder);
  /** The ids begin with the time, so their order is that of the mails. */
  const ids = () =>
    readdirSync(folder)
      .flatMap((name) => FILE.exec(name)?.[1] ?? [])
      .toSorted()
      .toReversed();
  const read = (id: string) => parse(id, readFileSync(join(folder, `${id}.eml`)));
  return {
    save(source) {
      const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
      const id = `${time}-${randomBytes(4).toString('hex')}`;
      writePrivateFile(join(folder, `${id}.eml`), source);
      return id;
    },
    latest: (limit) => Promise.all(ids().slice(0, limit).map(read)),
    // Only a name from the folder becomes part of a path.
    find: async (id) => (ids().includes(id) ? read(id) : undefined),
  };
}

async function parse(id: string, source: Buffer): Promise<StoredMail> {
  const { from, to, subject, date, text, html } = await simpleParser(source);
  const recipients = to === undefined ? [] : [to].flat();
  return {
    id,
    from: from?.text ?? '',
    to: recipients.map((one) => one.text).join(', '),
    subject: subject ?? '',
    at: date,
    text: text ?? '',
    html: html || '',
  };
}
