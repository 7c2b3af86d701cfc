import type { Book, Changes, Row, Table } from './book.ts';
import type { Announcement } from './callback-plan.ts';
import type { Callbacks } from './callbacks.ts';
import { badRequest } from './razorpay-error.ts';

/** How the simulated gateway behaves beyond its faults; forgotten on restart. */
export interface Behaviour {
  /** Refunds stay pending until a control call settles them. */
  refundsStartPending: boolean;
  /** Off: `X-Refund-Idempotency` is ignored, so that a caller's own look-up shows its worth. */
  honourIdempotencyKeys: boolean;
}

/** What the operations work on. */
export interface World {
  book: Book;
  callbacks: Callbacks;
  behaviour: Behaviour;
  /** Unix seconds. */
  now: () => number;
  /** The address under which browsers reach the pages. */
  publicUrl: () => string;
}

/** Writes the rows and the callbacks about them together, then sends the callbacks. */
export function publish(world: World, changes: Changes, announcements: Announcement[] = []): void {
  const plans = announcements.map((one) => world.callbacks.plan(one, world.now()));
  const events = Object.fromEntries(plans.map(({ event }) => [event.id, event]));
  world.book.commit({ ...changes, events });
  for (const plan of plans) world.callbacks.dispatch(plan);
}

/** A row that has to be there. @throws RazorpayError 400 in Razorpay's words */
export function existing<Name extends Table>(world: World, table: Name, id: string): Row<Name> {
  const row = world.book.get(table, id);
  if (row === undefined) throw badRequest('The id provided does not exist');
  return row;
}

const PLATFORM = 'platform';

/** What the platform has of its own, in paise. */
export function platformBalancePaise({ book }: World): number {
  return book.get('balances', PLATFORM)?.paise ?? 0;
}

/** The change of the platform's own money that goes with some other change. */
export function balanceChange(world: World, deltaPaise: number): Changes {
  return { balances: { [PLATFORM]: { paise: platformBalancePaise(world) + deltaPaise } } };
}
