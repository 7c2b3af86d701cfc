import { ensureMerchantUser, ensureOperator, OPERATOR_EMAILS } from '../../dev/start/demo-users.ts';
import { createSession } from '../../src/accounts/log-in/sessions.ts';
import { findUserByEmail } from '../../src/accounts/people/users.ts';
import { SESSION_COOKIE } from '../../src/accounts/public.ts';
import type { Sql } from '../../src/db/client.ts';
import { requireMerchant } from '../../src/merchants/queries.ts';
import { createSecretBox } from '../../src/secret-box.ts';

/** The keys of the secret boxes. */
export const SECRET_KEYS = `bench:${Buffer.alloc(32, 7).toString('base64')}`;

/** Creates a user of the merchant and an operator, unless an earlier run has. @returns a Cookie header for each */
export async function openSessions(sql: Sql, merchantId: string) {
  const deps = {
    sql,
    actor: { name: 'bench', address: null },
    dataBox: createSecretBox(SECRET_KEYS),
    publicBaseUrl: 'http://127.0.0.1',
    nowMs: Date.now,
  };
  const cookieOf = async ({ email }: { email: string }) => {
    const user = await findUserByEmail(sql, email);
    if (!user) throw new Error(`There is no user ${email}`);
    const client = { address: '127.0.0.1', userAgent: 'bench' };
    return `${SESSION_COOKIE}=${await createSession({ sql }, user.userId, client)}`;
  };
  const merchant = await requireMerchant(sql, merchantId);
  return {
    merchant: await cookieOf(await ensureMerchantUser(deps, merchant, undefined)),
    operator: await cookieOf(await ensureOperator(deps, OPERATOR_EMAILS[0], undefined)),
  };
}
