/** The roles of operators. Each may do all that the one before it may do. */
export type OperatorRole = 'support' | 'finance' | 'admin';

const EVERY_ROLE = ['support', 'finance', 'admin'] as const;
const MONEY_ROLES = ['finance', 'admin'] as const;
const ADMIN_ONLY = ['admin'] as const;

/** How many disputes an operator may raise for buyers in 24 hours. Roles that are absent have no limit. */
export const DISPUTES_PER_DAY: Partial<Record<OperatorRole, number>> = { support: 10 };

/**
 * When an action needs the approval of a second operator: it then becomes a proposal (src/proposals).
 *
 * - `above`: for orders of more than PROPOSAL_ABOVE_PAISE
 * - `last_admin`: if no active admin would remain besides the one who asks
 */
export type SecondPerson = 'never' | 'above' | 'last_admin' | 'always';

interface ActionRule {
  readonly roles: readonly OperatorRole[];
  readonly secondPerson: SecondPerson;
  /** What it does, for docs/security/who-may-do-what.md. */
  readonly does: string;
  readonly mail?: string;
}

/**
 * The rule of each action of an operator. Pages and commands ask it before they act. To propose or approve an
 * action that needs a second person, an operator confirms password and second factor first.
 */
export const ACTION_RULES = {
  read: {
    roles: EVERY_ROLE,
    secondPerson: 'never',
    does: 'See merchants, orders, disputes, deliveries, the ledger, alerts, proposals and the audit list',
  },
  'order.retry': {
    roles: EVERY_ROLE,
    secondPerson: 'never',
    does: 'Retry a call to the gateway now',
  },
  'order.recover': {
    roles: EVERY_ROLE,
    secondPerson: 'never',
    does: 'Compare an order with its workflow',
  },
  'delivery.retry': { roles: EVERY_ROLE, secondPerson: 'never', does: 'Send a webhook again' },
  'dispute.raise': {
    roles: EVERY_ROLE,
    secondPerson: 'never',
    does: 'Raise a dispute for a buyer; support at most ten in 24 hours',
  },
  'alert.clear': { roles: EVERY_ROLE, secondPerson: 'never', does: 'Clear an alert' },
  'dispute.decide': { roles: MONEY_ROLES, secondPerson: 'above', does: 'Decide a dispute' },
  'order.refund': {
    roles: MONEY_ROLES,
    secondPerson: 'above',
    does: 'Refund an order of a merchant that cannot: one that is not approved',
  },
  'order.settle': {
    roles: MONEY_ROLES,
    secondPerson: 'always',
    does: 'Record that money was moved outside the gateway',
  },
  'accountNumber.read': {
    roles: MONEY_ROLES,
    secondPerson: 'never',
    does: "See a merchant's whole bank account number",
  },
  'merchant.linkedAccount': {
    roles: MONEY_ROLES,
    secondPerson: 'always',
    does: "Set or change the linked account that a merchant's money is paid out to",
    mail: 'the merchant',
  },
  'merchant.review': {
    roles: ADMIN_ONLY,
    secondPerson: 'never',
    does: 'Reject or suspend a merchant',
    mail: 'the merchant',
  },
  'merchant.approve': {
    roles: ADMIN_ONLY,
    secondPerson: 'always',
    does: 'Approve a merchant, with its first linked account',
    mail: 'the merchant',
  },
  'merchant.activate': {
    roles: ADMIN_ONLY,
    secondPerson: 'always',
    does: "End a merchant's suspension",
    mail: 'the merchant',
  },
  'operator.manage': { roles: ADMIN_ONLY, secondPerson: 'never', does: 'See the operators' },
  'operator.create': {
    roles: ADMIN_ONLY,
    secondPerson: 'always',
    does: 'Invite an operator',
    mail: 'the operator',
  },
  'operator.role': {
    roles: ADMIN_ONLY,
    secondPerson: 'always',
    does: "Change an operator's role",
  },
  'operator.reactivate': {
    roles: ADMIN_ONLY,
    secondPerson: 'always',
    does: 'Invite a disabled operator again',
    mail: 'the operator',
  },
  'operator.reset': {
    roles: ADMIN_ONLY,
    secondPerson: 'always',
    does: "Remove an operator's second factor",
    mail: 'the operator',
  },
  'operator.disable': {
    roles: ADMIN_ONLY,
    secondPerson: 'last_admin',
    does: 'Disable an operator',
  },
} as const satisfies Record<string, ActionRule>;

export type OperatorAction = keyof typeof ACTION_RULES;

/** The actions that may need a proposal. Each is a kind of proposal. */
export type ProposedAction = {
  [Action in OperatorAction]: (typeof ACTION_RULES)[Action]['secondPerson'] extends 'never'
    ? never
    : Action;
}[OperatorAction];

export const rolesFor = (action: OperatorAction): readonly OperatorRole[] =>
  ACTION_RULES[action].roles;

/** Whether an operator with this role may do it. False for a merchant's user, whose role is null. */
export function mayDo(role: OperatorRole | null, action: OperatorAction): boolean {
  return role !== null && rolesFor(action).includes(role);
}
