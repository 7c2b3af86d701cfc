import type { Refusal } from './book.ts';
import { newId } from './random.ts';
import { badRequest } from './razorpay-error.ts';
import { existing, publish } from './world.ts';
import type { World } from './world.ts';

/** Refusals that a gateway does not take back by itself, with the words it would use. */
const REFUSAL_CAUSES = {
  account_closed: { operation: 'transfer', description: 'The linked account is closed' },
  refund_window_over: {
    operation: 'refund',
    // payments/refunds/errors, word for word.
    description:
      'Refund is not supported by the bank because the payment is more than 6 months old',
  },
} as const;

export type RefusalCause = keyof typeof REFUSAL_CAUSES;

/** Refuses every refund or transfer of the subject (a payment, a linked account, null for all). */
export function addRefusal(world: World, cause: RefusalCause, subjectId: string | null): Refusal {
  const id = newId('refusal_');
  const refusal = { id, subjectId, isActive: true, ...REFUSAL_CAUSES[cause] };
  publish(world, { refusals: { [id]: refusal } });
  return refusal;
}

/** Takes it back. */
export function liftRefusal(world: World, id: string): void {
  const refusal = existing(world, 'refusals', id);
  publish(world, { refusals: { [id]: { ...refusal, isActive: false } } });
}

/** @throws RazorpayError 400 while a refusal covers one of the subjects */
export function assertNotRefused(
  world: World,
  operation: Refusal['operation'],
  subjectIds: readonly string[],
): void {
  const covers = ({ subjectId }: Refusal) => subjectId === null || subjectIds.includes(subjectId);
  const refusal = world.book
    .all('refusals')
    .find(
      (candidate) => candidate.isActive && candidate.operation === operation && covers(candidate),
    );
  if (refusal !== undefined) throw badRequest(refusal.description);
}
