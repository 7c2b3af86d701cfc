import type { Sql } from '../db/client.ts';
import { errorOf } from '../http/responses/errors.ts';

/** Makes the merchant's next POST in the sandbox answer 500 after it has taken effect. */
export async function armSandboxFault(sql: Sql, merchantId: string): Promise<void> {
  await sql`
    INSERT INTO merchant_environments (merchant_id, environment, fails_after_work)
    VALUES (${merchantId}, 'sandbox', true)
    ON CONFLICT (merchant_id, environment) DO UPDATE SET fails_after_work = true`;
}

/** @throws DomainError `INTERNAL` once after each {@link armSandboxFault}, even for concurrent requests */
export async function failIfArmed(sql: Sql, merchantId: string): Promise<void> {
  const taken = await sql`
    UPDATE merchant_environments SET fails_after_work = false
    WHERE merchant_id = ${merchantId} AND environment = 'sandbox' AND fails_after_work
    RETURNING merchant_id`;
  if (taken.length > 0) throw errorOf('INTERNAL');
}
