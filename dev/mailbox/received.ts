import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A long id stands on the line after the header's name. */
const MAIL_ID = /^Message-ID:\s{1,3}<([^\s@>]+)@/im;

/** The files of the mails that the mailbox of a data folder has received, by the mail's id: several for a repeat. */
export function receivedMails(dataDir: string): Map<string, string[]> {
  const folder = join(dataDir, 'mails');
  return Map.groupBy(
    readdirSync(folder)
      .filter((name) => name.endsWith('.eml'))
      .map((name) => join(folder, name)),
    (file) => {
      const mailId = MAIL_ID.exec(readFileSync(file, 'utf8'))?.[1];
      if (mailId === undefined) throw new Error(`${file} has no Message-ID`);
      return mailId;
    },
  );
}
