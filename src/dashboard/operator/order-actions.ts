import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { OperatorRole } from '../../accounts/public.ts';
import { mayDo } from '../../accounts/public.ts';
import { isFinal, transitionOf } from '../../domain/index.ts';
import type { OrderRow } from '../../orders/public.ts';
import type { OrderView, OrderWorkflowsView } from '../../payments/public.ts';
import type { FormState } from '../view/fields.ts';
import { submit } from '../view/fields.ts';
import { form, link } from '../view/url.ts';
import type { ActionName, OrderAction } from './action-declarations.ts';
import { ORDER_ACTIONS } from './action-declarations.ts';

/** What decides which actions fit. */
export interface ShownState {
  order: OrderRow;
  view: OrderView;
  workflows: OrderWorkflowsView;
}

/** Links to the actions that the order's state and the operator's role allow. */
export function actionLinks(state: ShownState, role: OperatorRole) {
  const names = (Object.keys(ORDER_ACTIONS) as ActionName[]).filter(
    (name) => FITS[name](state) && mayDo(role, ORDER_ACTIONS[name].permission),
  );
  if (names.length === 0) return null;
  return h(
    'p',
    { class: 'actions' },
    names.map((name) => actionLink(state.order.orderNumber, name, { class: 'button second' })),
  );
}

/** Whether an action fits the state; the action itself decides when it is carried out. */
const FITS: Record<ActionName, (state: ShownState) => boolean> = {
  retry: ({ workflows }) =>
    workflows.gatewayCalls.some(({ state }) => state === 'waiting' || state === 'paused'),
  recover: ({ order }) => !isFinal(order.status),
  dispute: ({ order }) => transitionOf(order, 'dispute') !== undefined,
  decide: ({ order }) => transitionOf(order, 'decideForBuyer') !== undefined,
  refund: ({ order }) => transitionOf(order, 'refund') !== undefined,
  settle: ({ order, view }) =>
    order.pendingOperation?.kind === 'releasing' ||
    order.pendingOperation?.kind === 'refunding' ||
    (view.reversals.length > 0 && !isFinal(order.status)) ||
    view.payments.some(
      ({ surplusReason, refundedAt }) => surplusReason !== null && refundedAt === null,
    ),
};

/** A link to the page of an action. */
export function actionLink(orderNumber: string, name: ActionName, attributes = {}) {
  return link(actionPath(orderNumber, name), `${ORDER_ACTIONS[name].title} …`, attributes);
}

/** The path of an action's page and of its form. */
export function actionPath(orderNumber: string, name: ActionName): string {
  return `/operator/orders/${encodeURIComponent(orderNumber)}/${name}`;
}

/** The form of an action. */
export function actionForm(
  orderNumber: string,
  name: ActionName,
  state: FormState = {},
): ComponentChildren {
  const { fields, button, confirmation }: OrderAction = ORDER_ACTIONS[name];
  return form(
    actionPath(orderNumber, name),
    {},
    ...fields(state),
    submit(confirmation ? 'Continue' : button),
  );
}

/** The form of the decision of a dispute, on the dispute's page. */
export const decisionForm = (orderNumber: string) => actionForm(orderNumber, 'decide');
