import type { MerchantViewer, OperatorViewer } from '../viewer.ts';

/** Who has an account page: each kind of user has it at another address. */
export type AccountAudience = 'merchant' | 'operator';

/** The path of the viewer's account page. */
export function accountPath(viewer: MerchantViewer | OperatorViewer): string {
  return 'environment' in viewer ? `/dashboard/${viewer.environment}/account` : '/operator/account';
}
