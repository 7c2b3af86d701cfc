import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { ulid } from 'ulid';
import type { OrderRow } from '../../orders/public.ts';
import { keptHidden, refused, submit, textArea, textField } from '../view/fields.ts';
import { details, hint } from '../view/parts.ts';
import { copyable } from '../view/texts.ts';
import { ownName, useShownAgain } from '../view/typed.ts';
import { form } from '../view/url.ts';
import type { FormValues, OrderAction, OrderActions } from './actions.ts';
import { orderPath, returnsMoney } from './parts.ts';

/** The name of the hidden field that makes a double click one command. */
export const KEY_FIELD = 'idempotencyKey';

/**
 * The form of an action, closed until it is opened; open if it was refused. The names of its fields
 * contain order and action, because a page has several forms and each field an id of its own.
 *
 * @param suggested values before anything is typed, such as the seconds until the deadline
 */
export function actionForm(order: OrderRow, action: OrderAction, suggested: FormValues = {}) {
  const nameOf = (name: string) => `${order.orderNumber}-${action.id}-${name}`;
  const asks = returnsMoney(action.id);
  const path = orderPath(order, `/${action.id}`);
  return h(
    OpenIfTyped,
    {
      key: action.id,
      action: path,
      class: asks || kindOf(action) === 'danger' ? 'second' : undefined,
    },
    h('summary', null, action.label),
    h(
      'div',
      { class: 'action' },
      refused({ isOf: (one) => one === path }),
      hint(action.summary),
      form(
        path,
        // A list of disputes has the same form for several orders.
        {
          'aria-label': `${action.label}: ${order.orderNumber}`,
          'data-asks': asks ? '' : undefined,
        },
        keptHidden(KEY_FIELD, ulid()),
        ...action.fields.map((field) =>
          control({ ...field, name: nameOf(field.name) }, suggested[field.name]),
        ),
        submit(asks ? 'Continue' : action.label, asks ? 'second' : kindOf(action)),
      ),
    ),
  );
}

/** Opens what has the form that is shown again. */
function OpenIfTyped({
  action,
  children,
  ...rest
}: {
  action: string;
  class: string | undefined;
  children?: ComponentChildren;
}) {
  const again = useShownAgain((one) => one === action);
  return h('details', { ...rest, open: again !== undefined }, children);
}

const kindOf = ({ id }: OrderAction) => (id === 'cancelOrder' ? 'danger' : 'main');

function control(
  { name, label, kind, isRequired, maxLength }: OrderAction['fields'][number],
  value: string | undefined,
) {
  const field = { name, label, value, required: isRequired, ...(maxLength && { maxLength }) };
  if (kind === 'long_text') return textArea(field);
  return textField({ ...field, ...(kind === 'number' && { inputMode: 'numeric' }) });
}

/** The same actions by the API: a command line for each. */
export function apiDrawer(actions: OrderActions, order: OrderRow, offered: readonly OrderAction[]) {
  if (offered.length === 0) return null;
  const commands = offered.map((action) =>
    h(
      'div',
      { key: action.id, class: 'action' },
      h('h3', null, action.label),
      copyable(`command: ${action.label}`, curlOf(actions, order, action)),
    ),
  );
  return details('The same by the API', ...commands);
}

/** Shows what belongs into the required fields. */
function curlOf(actions: OrderActions, order: OrderRow, action: OrderAction) {
  const examples = action.fields
    .filter(({ isRequired }) => isRequired)
    .map(({ name, label, kind }) => [name, kind === 'number' ? '3600' : label]);
  return actions.curlOf(action, order, Object.fromEntries(examples));
}

/** The values of a submitted form, by the names of the action's fields. */
export function valuesOf(body: Readonly<Record<string, unknown>>): FormValues {
  const texts = Object.entries(body).filter(
    (field): field is [string, string] => typeof field[1] === 'string',
  );
  return Object.fromEntries(texts.map(([name, text]) => [ownName(name), text]));
}
