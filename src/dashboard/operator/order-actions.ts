import { h } from 'preact';
import type { OperatorRole } from '../../accounts/public.ts';
import { mayDo } from '../../accounts/public.ts';
import { submit } from '../view/fields.ts';
import { form, link } from '../view/url.ts';
import type { ActionName, OrderAction, ShownState } from './action-declarations.ts';
import { ORDER_ACTIONS } from './action-declarations.ts';

/** What an order waits for comes first. */
const PRIORITY = [
  'decide',
  'retry',
  'settle',
  'dispute',
  'recover',
  'refund',
] as const satisfies ActionName[];

/** Links to the actions that the order's state and the operator's role allow. */
export function actionLinks(state: ShownState, role: OperatorRole) {
  const names = PRIORITY.filter(
    (name) => ORDER_ACTIONS[name].fits(state) && mayDo(role, ORDER_ACTIONS[name].permission),
  );
  if (names.length === 0) return null;
  return h(
    'p',
    { class: 'actions' },
    names.map((name, index) =>
      actionLink(state.order.orderNumber, name, {
        class: index === 0 && name !== 'recover' ? 'button' : 'button second',
      }),
    ),
  );
}

/** A link to the page of an action. */
export function actionLink(orderNumber: string, name: ActionName, attributes = {}) {
  return link(actionPath(orderNumber, name), `${ORDER_ACTIONS[name].title}…`, attributes);
}

/** The path of an action's page and of its form. */
export function actionPath(orderNumber: string, name: ActionName): string {
  return `/operator/orders/${encodeURIComponent(orderNumber)}/${name}`;
}

/** The form of an action. */
export function actionForm(orderNumber: string, name: ActionName) {
  const { fields, button, confirmation }: OrderAction = ORDER_ACTIONS[name];
  return form(
    actionPath(orderNumber, name),
    { 'data-asks': confirmation && '' },
    ...fields(),
    submit(confirmation ? 'Continue' : button),
  );
}
