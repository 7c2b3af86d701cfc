import type { AccountDeps } from '../context.ts';

/** Reads the kinds of mails that a user has switched off. */
export async function readMutedMails(
  { sql }: Pick<AccountDeps, 'sql'>,
  userId: string,
): Promise<string[]> {
  const [row] = await sql<{ mutedMails: string[] }[]>`
    SELECT muted_mails FROM users WHERE user_id = ${userId}`;
  return row?.mutedMails ?? [];
}

/** Replaces them. @param kinds never those about money or security */
export async function writeMutedMails(
  { sql }: Pick<AccountDeps, 'sql'>,
  userId: string,
  kinds: readonly string[],
): Promise<void> {
  await sql`UPDATE users SET muted_mails = ${[...kinds]} WHERE user_id = ${userId}`;
}
