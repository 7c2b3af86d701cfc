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

const FILE = /^([\w-]+)\.eml$/;

/** The mails of a developer's machine in a folder: one file for each, readable only by its owner. */
export function createMailStore(folder: string) {
  makePrivateFolder(folder);
  /** The ids begin with the time, so their order is that of the mails. */
  const ids = () =>
    readdirSync(folder)
      .flatMap((name) => FILE.exec(name)?.[1] ?? [])
      .toSorted()
      .toReversed();
  const read = (id: string) => parse(id, readFileSync(join(folder, `${id}.eml`)));
  return {
    /** @returns the id of the mail */
    save(source: Buffer): string {
      const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
      const id = `${time}-${randomBytes(4).toString('hex')}`;
      writePrivateFile(join(folder, `${id}.eml`), source);
      return id;
    },
    /** The latest mails, the newest first. */
    latest: (limit: number): Promise<StoredMail[]> => Promise.all(ids().slice(0, limit).map(read)),
    /** @returns undefined when there is no such mail: only a name from the folder becomes part of a path */
    find: async (id: string) => (ids().includes(id) ? read(id) : undefined),
  };
}

/** See {@link createMailStore}. */
export type MailStore = ReturnType<typeof createMailStore>;

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
