import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { OperatorRole } from '../../accounts/public.ts';
import { mayDo } from '../../accounts/public.ts';
import type { Alert } from '../../alerts/alerts.ts';
import type { AlertKind } from '../../alerts/kinds.ts';
import { hint } from '../view/parts.ts';
import { link, pathWith } from '../view/url.ts';
import type { ActionName } from './action-declarations.ts';
import { ORDER_ACTIONS } from './action-declarations.ts';
import { actionLink } from './order-actions.ts';
import { merchantPath, orderLink } from './parts.ts';
import { proposalPath } from './proposal-tables.ts';

/** Where the cause of an alert is resolved. */
interface Remedy {
  readonly actions?: readonly ActionName[];
  /** For an alert that is not about an order. */
  readonly page?: (alert: Alert) => ReturnType<typeof link> | undefined;
  /** A command for the terminal, with the names of its arguments in capitals. */
  readonly command?: string;
}

const ledgerPage = () => link('/operator/ledger', 'Open the ledger');
const proposalPage = ({ subject }: Alert) => link(proposalPath(subject), 'Open the proposal');
const auditPage = ({ subject }: Alert) =>
  link(pathWith('/operator/audit', { subject, action: 'break-glass' }), 'See who did what');

function merchantPage({ kind, subject, details }: Alert) {
  const merchantId = kind === 'no_linked_account' ? subject : details['merchantId'];
  if (typeof merchantId !== 'string') return undefined;
  return link(merchantPath(merchantId), 'Open the merchant');
}

const REMEDIES: Record<AlertKind, Remedy> = {
  break_glass_used: { page: auditPage },
  callback_not_understood: {},
  clock_skew: { command: 'timedatectl' },
  charged_back: { actions: ['settle'] },
  delivery_unknown: { command: 'npm run -s admin -- order recover --all --since TIME' },
  gateway_balance_low: { page: ledgerPage },
  gateway_differs: { actions: ['settle'], command: 'npm run -s admin -- ledger verify --gateway' },
  gateway_not_understood: {},
  gateway_refused: { actions: ['retry', 'settle'] },
  ledger_fault: { page: ledgerPage, command: 'npm run -s admin -- ledger verify' },
  linked_account_unusable: { page: merchantPage },
  mail_failed: {},
  mail_not_configured: {},
  no_gateway: {},
  no_linked_account: { page: merchantPage },
  order_behind: { command: 'npm run -s admin -- order recover --all --since TIME' },
  order_without_row: { command: 'npm run -s admin -- order recover --all --since TIME' },
  payment_unconfirmed: {},
  payment_without_order: { command: 'npm run -s admin -- order recover --all' },
  unfit_capture: {},
  refunded_at_gateway: { actions: ['refund', 'settle'] },
  refund_failed: { actions: ['settle'] },
  release_blocked: { actions: ['settle'] },
  session_refused: {},
  proposal_near_deadline: { page: proposalPage },
  proposal_not_carried_out: { page: proposalPage },
  step_not_recorded: { actions: ['recover'] },
  surplus_capture: { actions: ['retry', 'settle'] },
  transfer_recipient_differs: {
    actions: ['settle'],
    command: 'npm run -s admin -- ledger verify --gateway',
  },
  workflow_missing: { actions: ['recover'] },
  wrong_amount: { actions: ['retry', 'settle'] },
};

function orderOf({ kind, subject, details }: Alert): string | undefined {
  if (kind === 'order_without_row') return undefined;
  if (subject.startsWith('ORD')) return subject;
  const { orderNumber } = details;
  return typeof orderNumber === 'string' ? orderNumber : undefined;
}

/** What an alert is about: a link if it is an order, and the order that a payment or a gateway names. */
export function aboutAlert(alert: Alert) {
  const order = orderOf(alert);
  const { subject } = alert;
  return h(
    'p',
    null,
    'About ',
    order === subject ? orderLink(order) : h('code', null, subject),
    order !== undefined && order !== subject && [', order ', orderLink(order)],
  );
}

/**
 * The pages, actions and commands that resolve the cause of an alert, those that the role allows.
 *
 * @param last beside the others, such as the link that clears the alert
 */
export function remediesOf(alert: Alert, role: OperatorRole, last: ComponentChildren) {
  const remedies: Partial<Record<string, Remedy>> = REMEDIES;
  const { actions = [], page, command } = remedies[alert.kind] ?? {};
  const order = orderOf(alert);
  const allowed = actions.filter((name) => mayDo(role, ORDER_ACTIONS[name].permission));
  const links = [
    ...(order === undefined
      ? []
      : allowed.map((name, index) =>
          actionLink(order, name, BUTTONS[index === 0 ? 'first' : 'other']),
        )),
    page?.(alert),
  ].filter((one) => one !== undefined);
  return [
    command !== undefined && h('p', null, 'In the terminal: ', h('code', null, command)),
    hint('Runbook: ', h('code', null, `docs/runbook/alerts.md#${alert.kind}`)),
    (links.length > 0 || last) && h('p', { class: 'actions' }, links, last),
  ];
}

const BUTTONS = { first: { class: 'button' }, other: { class: 'button second' } } as const;
