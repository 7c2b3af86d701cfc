import type { Sql } from '../../src/db/client.ts';
import { until } from './until.ts';

const IS_MOVING = 'Another process is moving the money';

/**
 * Settles an order whose money the service tries to move again and again: repeats the settlement while it is refused
 * because of such a try. It acts as if a request of unknown outcome had been sent more than a minute before.
 */
export const whenMoneyIsFree = <Result>(sql: Sql, settle: () => Promise<Result>): Promise<Result> =>
  until(async () => {
    await sql`UPDATE payments SET money_unknown_until = NULL WHERE money_unknown_until IS NOT NULL`;
    try {
      return { result: await settle() };
    } catch (error) {
      if (error instanceof Error && error.message.startsWith(IS_MOVING)) return undefined;
      throw error;
    }
  }).then((settled) => settled.result);
