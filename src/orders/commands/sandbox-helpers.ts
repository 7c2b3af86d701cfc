import type { Sql } from '../../db/client.ts';
import { DomainError, isFinal } from '../../domain/index.ts';
import { tooManyRequests } from '../../http/responses/errors.ts';
import { findOrderByNumber } from '../find-order.ts';
import type { CommandBody, OrderRow } from '../rows.ts';
import type { CommandRef, GivenCommand, NewCommand } from './command-queries.ts';
import { findTarget, writeCommand } from './command-queries.ts';
import type { CommandResult, SendDeps } from './send-command.ts';
import { DEFAULT_REASON, sendCommand } from './send-command.ts';

export type HelperDeps = Pick<SendDeps, 'sql' | 'present'>;

/** A test helper of the sandbox that sends no message to the order's workflow. */
export interface HelperCommand extends GivenCommand {
  name: NewCommand['name'];
  body: CommandBody;
}

/**
 * Records a test helper as a command, so that a repeat with the same key does nothing, and does its work. A repeat
 * also does it if the earlier request died: then that may have done it, too.
 *
 * @param work receives the order as it was before; may throw a refusal, a repeat is then a new command
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`, and what `work` throws; `TOO_MANY_REQUESTS` while an
 *   earlier request with the same key may be doing the work
 */
export async function runHelper(
  { sql, present }: HelperDeps,
  { actor, ...given }: HelperCommand,
  work: (order: OrderRow) => Promise<unknown>,
): Promise<CommandResult> {
  const { order, commandId } = await findTarget(sql, given);
  const { orderNumber } = order;
  const origin = { actor, reason: DEFAULT_REASON };
  const written = await writeCommand(sql, { ...given, commandId, origin });
  const { mismatch, tryNumber } = written;
  const replayed = written.replayed && (await isDone(sql, { orderNumber, commandId }));
  const end = (state: 'DONE' | 'REFUSED') =>
    sql`SELECT end_command(${orderNumber}, ${commandId}, ${state}, ${tryNumber})`;
  if (!replayed) {
    try {
      await work(order);
    } catch (error) {
      await end('REFUSED');
      throw error;
    }
    await end('DONE');
  }
  return { order: present(await findOrderByNumber(sql, orderNumber)), replayed, mismatch };
}

/** No request works longer on a helper: it is answered within 5 s. */
const WORK_SECONDS = 10;

/** @throws DomainError `TOO_MANY_REQUESTS` while the request that recorded the helper may be doing its work */
async function isDone(sql: Sql, { orderNumber, commandId }: CommandRef): Promise<boolean> {
  const [row] = await sql<{ isDone: boolean; isYoung: boolean }[]>`
    SELECT state = 'DONE' AS is_done,
      written_at > service_now() - ${WORK_SECONDS} * interval '1 second' AS is_young
    FROM order_commands
    WHERE order_number = ${orderNumber} AND command_id = ${commandId} AND state <> 'REFUSED'`;
  // A request that was refused meanwhile has done nothing; the next repeat is a new command.
  if (!row || (!row.isDone && row.isYoung)) throw tooManyRequests(1, UNDER_WAY);
  return row.isDone;
}

export interface AdvanceDeps extends SendDeps {
  /** Moves the order's pending webhook attempts, and returns how many it has moved. */
  advanceAttempts(orderNumber: string, seconds: number): Promise<number>;
}

const UNDER_WAY = 'Too many requests: one with this Idempotency-Key is being processed; repeat it';
const NOTHING_WAITS =
  'Cannot advance; the order is in a final status, and no attempt of its webhooks waits';

/**
 * Brings the deadlines and the webhook attempts of a sandbox order closer by the same time. In a final status only
 * the attempts are left; the workflow takes no commands then, so none is sent.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`, `INVALID_STATE`
 */
export async function advanceOrder(
  deps: AdvanceDeps,
  { seconds, ...given }: GivenCommand & { seconds: number },
): Promise<CommandResult> {
  const { sql, advanceAttempts } = deps;
  const { order, commandId } = await findTarget(sql, given);
  const { orderNumber } = order;
  const command = { ...given, commandId, name: 'advance', body: { seconds } } as const;
  if (!isFinal(order.status)) {
    const result = await sendCommand(deps, { ...command, message: { seconds } });
    if (!result.replayed) await advanceAttempts(orderNumber, seconds);
    return result;
  }
  return runHelper(deps, command, async () => {
    const moved = await advanceAttempts(orderNumber, seconds);
    if (moved === 0) throw new DomainError('INVALID_STATE', NOTHING_WAITS);
  });
}
