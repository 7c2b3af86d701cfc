import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { notice } from './parts.ts';
import type { FormState } from './typed.ts';
import { useShownAgain, useTyped, useViolation, withState } from './typed.ts';
import { form } from './url.ts';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** What it shows before anything is typed. */
  readonly value?: string | null | undefined;
  readonly required?: boolean;
  /** May be blank now and is needed later, in a form that saves a draft: not marked as optional. */
  readonly neededLater?: boolean;
  readonly autocomplete?: string;
}

/** Shows why a form of the page was refused: see {@link refused}. */
function Refused({ isOf = () => true, atFields, end = '' }: RefusedPart) {
  const again = useShownAgain(isOf);
  if (!again?.refusal) return null;
  const { code, message } = again.refusal;
  const isAtFields = code === 'VALIDATION_FAILED' && atFields !== undefined;
  const text = isAtFields ? atFields : message + end;
  if (text === null) return null;
  again.isSaid = true;
  return notice('bad', text, 'alert');
}

interface RefusedPart {
  /** Whether it belongs to the form with this action. */
  readonly isOf?: (action: string) => boolean;
  /** The text where the fields show their violations; null for no text. */
  readonly atFields?: string | null;
  /** The character after the message. */
  readonly end?: '.' | '';
}

/** Where a page shows why one of its forms was refused: see `refusals` of a page. */
export const refused = (part: RefusedPart = {}) => h(Refused, part);

interface LabelledField {
  readonly field: Field;
  /** @param value what was typed, or what the field shows before */
  readonly control: (
    common: Readonly<Record<string, unknown>>,
    value: string | undefined,
  ) => ComponentChildren;
}

/** Screen readers read the label, the hint and the violation with the field. */
function Labelled({ field, control }: LabelledField) {
  const { name, label, hint, required = false, neededLater = false, value } = field;
  const typed = useTyped(name);
  const violation = useViolation(name);
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
    control(common, typed ?? value ?? undefined),
    violation !== undefined && h('p', { class: 'violation', id: violationId }, violation),
  );
}

export function textField(
  field: Field & {
    type?: 'text' | 'email' | 'password' | 'search' | 'url' | 'tel' | 'date' | 'datetime-local';
    maxLength?: number;
    inputMode?: 'numeric' | 'text';
    /** Examples of what can be typed; the label says what the field is. */
    placeholder?: string;
  },
) {
  const { type = 'text', maxLength, inputMode, placeholder, autocomplete } = field;
  const input = { type, maxLength, inputMode, placeholder, autoComplete: autocomplete };
  return h(Labelled, {
    field,
    // A password is never sent back.
    control: (common, value) =>
      h('input', { ...common, ...input, value: type === 'password' ? undefined : value }),
  });
}

export function textArea(field: Field & { maxLength?: number }) {
  const area = { rows: 4, maxLength: field.maxLength, dir: 'auto' } as const;
  return h(Labelled, {
    field,
    // Browsers leave out a line break at the beginning.
    control: (common, value = '') =>
      h('textarea', { ...common, ...area }, value.startsWith('\n') ? `\n${value}` : value),
  });
}

/** @param choices the values with their texts */
export function choice(
  field: Field & { choices: Readonly<Record<string, string>>; placeholder?: string },
) {
  const { choices, placeholder } = field;
  return h(Labelled, {
    field,
    control: (common, chosen) =>
      h(
        'select',
        common,
        placeholder !== undefined && h('option', { value: '' }, placeholder),
        Object.entries(choices).map(([value, text]) =>
          h('option', { key: value, value, selected: value === chosen }, text),
        ),
      ),
  });
}

/** A file to upload, in a form with `enctype: 'multipart/form-data'`. */
export const fileField = (field: Field & { accept: string }) =>
  h(Labelled, {
    field,
    control: (common) => h('input', { ...common, type: 'file', accept: field.accept }),
  });

/** The value is `on`; a box that is not ticked is not sent. */
function CheckBox({ name, label, hint, value }: Field) {
  const hintId = hint === undefined ? undefined : `${name}-hint`;
  const checked = (useTyped(name) ?? value) === 'on';
  return h(
    'div',
    { class: 'field check' },
    h('input', { 'aria-describedby': hintId, id: name, name, type: 'checkbox', checked }),
    h('label', { for: name }, label),
    hint !== undefined && h('p', { class: 'hint', id: hintId }, hint),
  );
}

export const checkBox = (field: Field) => h(CheckBox, field);

/** A value that the form sends without showing it. */
export function hidden(name: string, value: string) {
  return h('input', { type: 'hidden', name, value });
}

function KeptHidden({ name, value }: { name: string; value: string }) {
  return hidden(name, useTyped(name) || value);
}

/** A hidden value that stays when the form is shown again, so that its command is not carried out twice. */
export const keptHidden = (name: string, value: string) => h(KeptHidden, { name, value });

/** `danger` for what cannot be undone; `second` beside a main button. */
export function submit(text: string, kind: 'main' | 'second' | 'danger' | 'small' = 'main') {
  return h('button', { class: kind === 'main' ? 'button' : `button ${kind}` }, text);
}

/** A search form above a list: its fields in one row, and a button. */
export function filterForm(path: string, state: FormState, ...fields: ComponentChildren[]) {
  const content = [withState(state, ...fields), submit('Show', 'small')];
  return form(path, { method: 'get', class: 'filter' }, ...content);
}
