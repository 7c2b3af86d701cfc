import type { Actor } from '../db/actor.ts';
import type { Alongside } from '../db/alongside.ts';
import type { MerchantAct, NoticeDeps } from '../merchants/public.ts';
import { withNotice } from '../merchants/public.ts';
import type { MerchantViewer } from './viewer.ts';

/**
 * Carries out a user's act; the merchant gets a mail about it if the table of acts says so.
 *
 * @param carryOut writes the mail with the statement of the act
 * @throws DomainError `NOT_FOUND`, and what `carryOut` throws
 */
export function noticed<Result>(
  { notices }: { notices: NoticeDeps },
  { viewer, actor, isNoticed }: { viewer: MerchantViewer; actor: Actor; isNoticed: boolean },
  act: MerchantAct,
  carryOut: (alongside?: Alongside) => Promise<Result>,
): Promise<Result> {
  if (!isNoticed) return carryOut();
  const { merchantId, user } = viewer;
  return withNotice(notices, { merchantId, act, email: user.email, actor }, carryOut);
}
