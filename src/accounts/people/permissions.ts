/** What an operator may do, each role with all that the one before it may do. */
export type OperatorRole = 'support' | 'finance' | 'admin';

const EVERY_ROLE = ['support', 'finance', 'admin'] as const;
const MONEY_ROLES = ['finance', 'admin'] as const;
const ADMIN_ONLY = ['admin'] as const;

/** The roles that may do each action of an operator. Pages and commands ask it before they act. */
export const PERMISSIONS = {
  /** See merchants, orders, disputes, deliveries, the ledger, alerts and the audit log. */
  read: EVERY_ROLE,
  'order.retry': EVERY_ROLE,
  'order.recover': EVERY_ROLE,
  'delivery.retry': EVERY_ROLE,
  /** Raise a dispute for a buyer. */
  'dispute.raise': EVERY_ROLE,
  'alert.clear': EVERY_ROLE,
  'dispute.decide': MONEY_ROLES,
  'order.refund': MONEY_ROLES,
  /** Record that money was moved outside the gateway. */
  'order.settle': MONEY_ROLES,
  /** Set where a merchant's money is paid out to. */
  'merchant.linkedAccount': MONEY_ROLES,
  /** Approve, reject, suspend or activate a merchant. */
  'merchant.review': ADMIN_ONLY,
  'operator.manage': ADMIN_ONLY,
} as const satisfies Record<string, readonly OperatorRole[]>;

/** Something that only some operators may do. */
export type OperatorAction = keyof typeof PERMISSIONS;

/** Whether an operator with this role may do it. A merchant's user, who has no role, may not. */
export function mayDo(role: OperatorRole | null, action: OperatorAction): boolean {
  const roles: readonly OperatorRole[] = PERMISSIONS[action];
  return role !== null && roles.includes(role);
}
