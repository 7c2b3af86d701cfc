import type { ComponentChildren } from 'preact';
import { createContext, h } from 'preact';
import { useContext } from 'preact/hooks';
import type { TypedForm } from '../../accounts/public.ts';
import type { ErrorCode } from '../../domain/index.ts';

/** Why a form was refused, for the page that says so in a place of its own. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  /** What is wrong with fields, by their names. */
  readonly violations: Readonly<Record<string, string>>;
}

/** A form that was not carried out, and its page, which shows what was typed. */
export interface ShownAgain {
  readonly form: TypedForm;
  /** What was and was not done. */
  readonly notice: string;
  /** Said by the page instead of the notice above it. */
  readonly refusal?: Refusal | undefined;
  /** Set once the page has said the refusal. */
  isSaid?: boolean;
  /** Set once the page has shown the form; one that has no such form any more shows the texts. */
  isShown: boolean;
}

/** The form of a page that shows again what was typed. */
export const FormShownAgain = createContext<ShownAgain | undefined>(undefined);

/** What the fields of a form show, and what is wrong with them, by their names. */
export interface FormState {
  readonly values: TypedForm['fields'] | Readonly<Record<string, string | undefined>>;
  readonly violations?: Readonly<Record<string, string | undefined>> | undefined;
  readonly again?: ShownAgain;
}

/** Of the form that a field is in, if it is shown again or is a filter. */
const OwnForm = createContext<FormState | undefined>(undefined);

/** Gives the fields of a filter what was chosen. */
export const withState = (state: FormState, ...fields: ComponentChildren[]) =>
  h(OwnForm.Provider, { value: state }, fields);

/** Gives the fields of a form what was typed into them, if the form is the one that is shown again. */
export function WithTyped({ action, children }: { action: string; children?: ComponentChildren }) {
  const again = useContext(FormShownAgain);
  if (again?.form.action !== action) return h(OwnForm.Provider, { value: undefined }, children);
  again.isShown = true;
  const { form, refusal } = again;
  const state = { values: form.fields, violations: refusal?.violations, again };
  return h(OwnForm.Provider, { value: state }, children);
}

/** The form that a field is in: see {@link OwnForm}. */
export const useOwnForm = () => useContext(OwnForm);

/** What was typed into a field; undefined if its form is not shown again. */
export function useTyped(name: string): string | undefined {
  const values = useOwnForm()?.values;
  if (values === undefined) return undefined;
  const typed = values[name];
  return typeof typed === 'string' ? typed : (typed?.at(-1) ?? '');
}

/** The name of a field without what tells it apart from those of other forms of its page: `renew-code` is `code`. */
export const ownName = (name: string): string => name.slice(name.lastIndexOf('-') + 1);

/** What was wrong with a field; undefined if its form was not refused for it. */
export function useViolation(name: string): string | undefined {
  const state = useOwnForm();
  const violation = state?.violations?.[ownName(name)];
  if (state?.again && violation !== undefined) state.again.isSaid = true;
  return violation;
}

/** What is shown again, if it is the form with such an action. */
export function useShownAgain(isOf: (action: string) => boolean): ShownAgain | undefined {
  const again = useContext(FormShownAgain);
  return again && isOf(again.form.action) ? again : undefined;
}

/** Whether a box outside of its form was ticked. */
export function useIsTicked(name: string, value: string): boolean {
  const typed = useContext(FormShownAgain)?.form.fields[name];
  return [typed].flat().includes(value);
}
