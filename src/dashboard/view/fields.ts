import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { useTyped } from './typed.ts';

/** What was typed into a form and what is wrong with it, by the names of the fields. */
export interface FormState {
  readonly values?: Readonly<Record<string, string | undefined>>;
  readonly violations?: Readonly<Record<string, string | undefined>>;
}

/** The declaration of one field of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly required?: boolean;
  /** May be blank now and is needed later, in a form that saves a draft: not marked as optional. */
  readonly neededLater?: boolean;
  readonly autocomplete?: string;
}

/** The field with its label, its hint and its violation, all announced with it. */
function labelled(
  { name, label, hint, required = false, neededLater = false }: Field,
  { violations = {} }: FormState,
  control: (common: Record<string, unknown>) => ComponentChildren,
) {
  const violation = violations[name];
  const hintId = `${name}-hint`;
  const violationId = `${name}-violation`;
  const describedBy = [hint !== undefined && hintId, violation !== undefined && violationId]
    .filter((id) => id !== false)
    .join(' ');
  const common = {
    id: name,
    name,
    required,
    'aria-describedby': describedBy || undefined,
    'aria-invalid': violation === undefined ? undefined : 'true',
  };
  return h(
    'div',
    { class: 'field' },
    h(
      'label',
      { for: name },
      label,
      !required && !neededLater && h('span', { class: 'optional' }, ' (optional)'),
    ),
    hint !== undefined && h('p', { class: 'hint', id: hintId }, hint),
    control(common),
    violation !== undefined && h('p', { class: 'violation', id: violationId }, violation),
  );
}

/** A field of one line. */
export function textField(
  field: Field & {
    type?: 'text' | 'email' | 'password' | 'search' | 'url' | 'tel' | 'date' | 'datetime-local';
    maxLength?: number;
    inputMode?: 'numeric' | 'text';
    pattern?: string;
    /** Examples of what can be typed; the label says what the field is. */
    placeholder?: string;
  },
  state: FormState = {},
) {
  const { type = 'text', maxLength, inputMode, pattern, placeholder, autocomplete, name } = field;
  const input = { type, maxLength, inputMode, pattern, placeholder, autoComplete: autocomplete };
  return labelled(field, state, (common) =>
    h(Input, { ...common, ...input, name, value: state.values?.[name] }),
  );
}

function Input({ value, ...rest }: { name: string; type: string; value: string | undefined }) {
  const shown = useTyped(rest.name) ?? value;
  // A password is never sent back.
  return h('input', { ...rest, value: rest.type === 'password' ? undefined : shown });
}

/** A field of several lines. */
export function textArea(
  field: Field & { rows?: number; maxLength?: number },
  state: FormState = {},
) {
  const { rows = 4, maxLength, name } = field;
  return labelled(field, state, (common) =>
    h(TextArea, { ...common, rows, maxLength, dir: 'auto', name, value: state.values?.[name] }),
  );
}

function TextArea({
  value,
  ...rest
}: {
  name: string;
  rows: number;
  maxLength: number | undefined;
  dir: 'auto';
  value: string | undefined;
}) {
  const shown = useTyped(rest.name) ?? value ?? '';
  // Browsers leave out a line break at the beginning.
  return h('textarea', rest, shown.startsWith('\n') ? `\n${shown}` : shown);
}

/** A choice of one. @param choices the values with their texts */
export function choice(
  field: Field & { choices: Readonly<Record<string, string>>; placeholder?: string },
  state: FormState = {},
) {
  const { choices, placeholder, name } = field;
  return labelled(field, state, (common) =>
    h(Select, { ...common, name, choices, placeholder, value: state.values?.[name] }),
  );
}

function Select({
  choices,
  placeholder,
  value: given,
  ...rest
}: {
  name: string;
  choices: Readonly<Record<string, string>>;
  placeholder: string | undefined;
  value: string | undefined;
}) {
  const chosen = useTyped(rest.name) ?? given;
  return h(
    'select',
    rest,
    placeholder !== undefined && h('option', { value: '' }, placeholder),
    Object.entries(choices).map(([value, text]) =>
      h('option', { key: value, value, selected: value === chosen }, text),
    ),
  );
}

/** A file to upload, in a form with `enctype: 'multipart/form-data'`. */
export function fileField(field: Field & { accept: string }, state: FormState = {}) {
  return labelled(field, state, (common) =>
    h('input', { ...common, type: 'file', accept: field.accept }),
  );
}

/** A box to tick; its value is `on`. */
export function checkBox({ name, label, hint }: Field, state: FormState = {}) {
  const hintId = hint === undefined ? undefined : `${name}-hint`;
  const violation = state.violations?.[name];
  return h(
    'div',
    { class: 'field check' },
    h(CheckBox, { name, value: state.values?.[name], 'aria-describedby': hintId }),
    h('label', { for: name }, label),
    hint !== undefined && h('p', { class: 'hint', id: hintId }, hint),
    violation !== undefined && h('p', { class: 'violation' }, violation),
  );
}

/** A box that was not ticked is no field of the form that was sent. */
function CheckBox({
  name,
  value,
  ...rest
}: {
  name: string;
  value: string | undefined;
  'aria-describedby': string | undefined;
}) {
  const checked = (useTyped(name) ?? value) === 'on';
  return h('input', { ...rest, id: name, name, type: 'checkbox', checked });
}

/** A value that the form sends without showing it. */
export function hidden(name: string, value: string) {
  return h('input', { type: 'hidden', name, value });
}

function KeptHidden({ name, value }: { name: string; value: string }) {
  return hidden(name, useTyped(name) || value);
}

/** The same for a value that stays when the form is shown again, so that what was done is not done twice. */
export const keptHidden = (name: string, value: string) => h(KeptHidden, { name, value });

/** The button of a form. `danger` for what cannot be undone; `second` beside a main button. */
export function submit(text: string, kind: 'main' | 'second' | 'danger' | 'small' = 'main') {
  return h('button', { class: kind === 'main' ? 'button' : `button ${kind}` }, text);
}
