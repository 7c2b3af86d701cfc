import type { Actor } from '../db/actor.ts';
import type { Alongside } from '../db/client.ts';
import type { MailDeps } from '../mail/public.ts';
import { mailRow, prepareMail, startMail } from '../mail/public.ts';
import type { MerchantAct } from './mails.ts';
import { actMail } from './mails.ts';
import { merchantNotFound } from './queries.ts';
import { admitSend } from './send-limits.ts';

export interface NoticeDeps extends MailDeps {
  /** The base URL of the dashboard. */
  publicBaseUrl: string;
}

export interface NoticedAct {
  merchantId: string;
  act: MerchantAct;
  email: string;
  actor: Actor;
}

/**
 * Carries out an act of a merchant's user and writes the mail about it to the merchant, in one statement.
 *
 * @param carryOut gets the query that writes the mail, to include in its statement
 * @throws DomainError `NOT_FOUND`, HttpRefusal TOO_MANY_REQUESTS, and what `carryOut` throws
 */
export async function withNotice<Result>(
  deps: NoticeDeps,
  { merchantId, act, email, actor: { address } }: NoticedAct,
  carryOut: (alongside: Alongside) => Promise<Result>,
): Promise<Result> {
  await admitSend(deps.sql, merchantId, 'noticed_act');
  const [merchant] = await deps.sql<{ name: string; email: string; at: Date }[]>`
    SELECT name, email, service_now() AS at FROM merchants WHERE merchant_id = ${merchantId}`;
  if (!merchant) throw merchantNotFound(merchantId);
  const by = { merchantName: merchant.name, email, address, at: merchant.at };
  const content = actMail(act, by, deps.publicBaseUrl);
  const mail = prepareMail(deps, { to: merchant.email, ...content });
  const result = await carryOut(
    (sql, changed) => sql`${mailRow(sql, mail, changed)} RETURNING mail_id`,
  );
  startMail(deps, mail);
  return result;
}
