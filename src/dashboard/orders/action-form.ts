import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { ulid } from 'ulid';
import type { OrderRow } from '../../orders/public.ts';
import type { FormState } from '../view/fields.ts';
import { keptHidden, submit, textArea, textField } from '../view/fields.ts';
import { details, hint, notice } from '../view/parts.ts';
import { copyable } from '../view/texts.ts';
import { useIsShownAgain } from '../view/typed.ts';
import { form } from '../view/url.ts';
import type { FormValues, OrderAction, OrderActions } from './actions.ts';
import { orderPath, returnsMoney } from './parts.ts';

/** The name of the hidden field that makes a double click one command. */
export const KEY_FIELD = 'idempotencyKey';

/** An action that was submitted and refused, with what was typed. */
export interface RefusedAction {
  id: string;
  message: string;
  values: FormValues;
  /** By the names of the action's fields. */
  violations: FormValues;
  idempotencyKey: string;
}

/** An action's values before anything is typed, such as the seconds until the deadline. */
type Suggested = FormValues;

/**
 * The form of an action, closed until it is opened; open if it was refused. The names of its fields
 * contain order and action, because a page has several forms and each field an id of its own.
 */
export function actionForm(
  order: OrderRow,
  action: OrderAction,
  { refused, suggested = {} }: { refused?: RefusedAction | undefined; suggested?: Suggested } = {},
) {
  const own = refused?.id === action.id ? refused : undefined;
  const values = own?.values ?? suggested;
  const nameOf = (name: string) => `${order.orderNumber}-${action.id}-${name}`;
  const named = (texts: FormValues) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [nameOf(name), text]));
  const state = { values: named(values), violations: named(own?.violations ?? {}) };
  const asks = returnsMoney(action.id);
  return h(
    OpenIfTyped,
    {
      key: action.id,
      action: orderPath(order, `/${action.id}`),
      isOpen: own !== undefined,
      class: asks || kindOf(action) === 'danger' ? 'second' : undefined,
    },
    h('summary', null, action.label),
    h(
      'div',
      { class: 'action' },
      own && notice('bad', own.message, 'alert'),
      hint(action.summary),
      form(
        orderPath(order, `/${action.id}`),
        // A list of disputes has the same form for several orders.
        {
          'aria-label': `${action.label}: ${order.orderNumber}`,
          'data-asks': asks ? '' : undefined,
        },
        keptHidden(KEY_FIELD, own?.idempotencyKey ?? ulid()),
        ...action.fields.map((field) => control({ ...field, name: nameOf(field.name) }, state)),
        submit(asks ? 'Continue' : action.label, asks ? 'second' : kindOf(action)),
      ),
    ),
  );
}

/** Opens what has the form that is shown again. */
function OpenIfTyped({
  action,
  isOpen,
  children,
  ...rest
}: {
  action: string;
  isOpen: boolean;
  class: string | undefined;
  children?: ComponentChildren;
}) {
  const open = useIsShownAgain(action) || isOpen;
  return h('details', { ...rest, open }, children);
}

const kindOf = ({ id }: OrderAction) => (id === 'cancelOrder' ? 'danger' : 'main');

function control(
  { name, label, kind, isRequired, maxLength }: OrderAction['fields'][number],
  state: FormState,
) {
  const field = { name, label, required: isRequired, ...(maxLength && { maxLength }) };
  if (kind === 'long_text') return textArea(field, state);
  return textField({ ...field, ...(kind === 'number' && { inputMode: 'numeric' }) }, state);
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
  return Object.fromEntries(
    texts.map(([name, text]) => [name.slice(name.lastIndexOf('-') + 1), text]),
  );
}
