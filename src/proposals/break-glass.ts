import type { ProvenOperator } from '../accounts/public.ts';
import { listWarnedOperators, mayDo, rolesFor } from '../accounts/public.ts';
import type { Actor } from '../db/actor.ts';
import type { Alongside } from '../db/client.ts';
import { jsonRow } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import { prepareMail } from '../mail/public.ts';
import { requireMerchant } from '../merchants/public.ts';
import type { ProposalDeps, ProposalKind } from './context.ts';
import { rulesOf } from './kinds.ts';
import { breakGlassMail } from './mails.ts';

export interface ActAlone {
  kind: ProposalKind;
  /** An order number, a merchant's id, or an operator's address. */
  subject: string;
  /** The merchant concerned, who also gets a mail. */
  merchantId?: string | undefined;
  reason: string;
  /** The person at the command line, such as `cli:asha`. */
  terminal: string;
}

/**
 * Lets one operator act alone, in an emergency. The returned query belongs in the act's statement: it writes a row
 * of the audit log, an alert, and a mail to every operator and the merchant, which the sweep sends.
 *
 * @param operator from `proveOperator`
 * @throws DomainError `NOT_PERMITTED`, `BAD_REQUEST`
 */
export async function breakGlass(
  deps: Pick<ProposalDeps, 'sql' | 'mailBox'>,
  operator: ProvenOperator,
  act: ActAlone,
): Promise<{ actor: Actor; alongside: Alongside }> {
  const { kind, subject, merchantId } = act;
  const reason = act.reason.trim();
  if (reason === '') throw new DomainError('BAD_REQUEST', 'The reason must not be blank');
  const { userId, email, role } = operator;
  if (!mayDo(role, kind)) {
    throw new DomainError('NOT_PERMITTED', `Your role, ${role}, does not allow this`);
  }
  if (subject === email) {
    throw new DomainError('BAD_REQUEST', 'Another admin has to change your own account');
  }
  const actor = { name: `operator:${email}`, address: null };
  const readers = await listWarnedOperators(deps.sql);
  const merchant =
    merchantId === undefined ? [] : [(await requireMerchant(deps.sql, merchantId)).email];
  const notice = { by: email, title: rulesOf(kind).title, subject, reason };
  const mails = [...new Set([...readers, ...merchant])].map((to) => {
    const { mailId, sealed } = prepareMail(deps, breakGlassMail(to, notice));
    return { mail_id: mailId, sealed: sealed.toString('base64') };
  });
  const row = { ...act, reason, merchantId: merchantId ?? null };
  return {
    actor,
    alongside: (sql, changed) => sql`
      SELECT break_glass(${userId}, ${[...rolesFor(kind)]}, ${jsonRow(sql, row)}, ${jsonRow(sql, actor)},
        ${sql.json(mails)}) FROM ${sql(changed)}`,
  };
}
