import { h } from 'preact';
import { ulid } from 'ulid';
import type { FormValues, OrderAction, OrderActions, OrderRow } from '../../orders/public.ts';
import type { FormState } from '../view/fields.ts';
import { hidden, submit, textArea, textField } from '../view/fields.ts';
import { copyable, details, notice } from '../view/parts.ts';
import { form } from '../view/url.ts';
import { orderPath } from './deps.ts';

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
  actions: OrderActions,
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
  return h(
    'details',
    { key: action.id, open: own !== undefined },
    h('summary', null, action.label),
    h(
      'div',
      { class: 'action' },
      own && notice('bad', own.message, 'alert'),
      h('p', { class: 'hint' }, action.summary),
      form(
        orderPath(order, `/${action.id}`),
        // A list of disputes has the same form for several orders.
        { 'aria-label': `${action.label}: ${order.orderNumber}` },
        hidden(KEY_FIELD, own?.idempotencyKey ?? ulid()),
        ...action.fields.map((field) => control({ ...field, name: nameOf(field.name) }, state)),
        submit(action.label, isFinalAction(action) ? 'danger' : 'main'),
      ),
      details('The same by the API', copyable('command', curlOf(actions, order, action, values))),
    ),
  );
}

/** It returns the buyer's money or ends the order. */
function isFinalAction({ id }: OrderAction): boolean {
  return id === 'refundOrder' || id === 'acceptDispute' || id === 'cancelOrder';
}

function control(
  { name, label, kind, isRequired, maxLength }: OrderAction['fields'][number],
  state: FormState,
) {
  const field = { name, label, required: isRequired, ...(maxLength && { maxLength }) };
  if (kind === 'long_text') return textArea(field, state);
  return textField({ ...field, ...(kind === 'number' && { inputMode: 'numeric' }) }, state);
}

/** Fields that nothing was typed into yet show what belongs there. */
function curlOf(actions: OrderActions, order: OrderRow, action: OrderAction, values: FormValues) {
  const examples = action.fields
    .filter(({ isRequired }) => isRequired)
    .map(({ name, label, kind }) => [name, kind === 'number' ? '3600' : label]);
  const typed = Object.entries(values).filter(([, text]) => text !== '');
  return actions.curlOf(action, order, Object.fromEntries([...examples, ...typed]));
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
