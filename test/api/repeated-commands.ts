import type { OrderStatus } from '../../src/domain/index.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { obey } from '../domain/lifecycle-model.ts';
import { aCommand, ENDINGS, factsIn, NOW_MS, rowsOf } from '../domain/lifecycle-walk.ts';
import type { ApiClient } from '../support/api-client.ts';
import { withKey } from '../support/api-client.ts';
import type { ClientCommand } from '../support/command-requests.ts';
import { CLIENT_COMMANDS } from '../support/command-requests.ts';

/** A command that a client repeats. */
export interface RepeatedCommand {
  name: ClientCommand;
  /** The first status in which it fits. */
  fits: OrderStatus;
  /** Its entry in the timeline, of an order without an open payment session. */
  step: string;
  /** Another command, after which this one is refused. */
  afterwards?: ClientCommand | undefined;
}

export const REPEATED_COMMANDS: readonly RepeatedCommand[] = CLIENT_COMMANDS.map((name) => {
  const [row] = rowsOf([name]);
  if (!row) throw new Error(`${name} fits in no status`);
  const { from: fits, steps, step, pending } = row;
  const begun = obey(factsIn(fits), aCommand(name), NOW_MS)!;
  const once = pending ? obey(begun, { type: ENDINGS[pending.kind] }, NOW_MS)! : begun;
  const afterwards = CLIENT_COMMANDS.find((other) => {
    const then = obey(once, aCommand(other), NOW_MS);
    return then && !obey(then, aCommand(name), NOW_MS);
  });
  // There is no payment session to close.
  return { name, fits, step: name === 'cancel' ? step : steps[0]!, afterwards };
});

export const replayOf = ({ headers }: { headers: Headers }) => ({
  replayed: headers.get('Idempotent-Replayed'),
  mismatch: headers.get('Idempotency-Key-Mismatch'),
});

export const openSessionOf = (client: ApiClient, order: Order, key: string) =>
  client.openSession(order, withKey(key));
