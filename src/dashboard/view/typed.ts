import type { ComponentChildren } from 'preact';
import { createContext, h } from 'preact';
import { useContext } from 'preact/hooks';
import type { TypedForm } from '../../accounts/public.ts';

/** A form that was not carried out, and its page, which shows what was typed. */
export interface ShownAgain {
  readonly form: TypedForm;
  /** What was and was not done. */
  readonly notice: string;
  /** Set once the page has shown the form; one that has no such form any more shows the texts. */
  isShown: boolean;
}

/** The form of a page that shows again what was typed. */
export const FormShownAgain = createContext<ShownAgain | undefined>(undefined);

/** What was typed into the form that a field is in. */
const TypedFields = createContext<TypedForm['fields'] | undefined>(undefined);

/** Gives the fields of a form what was typed into them, if the form is the one that is shown again. */
export function WithTyped({ action, children }: { action: string; children?: ComponentChildren }) {
  const again = useContext(FormShownAgain);
  if (again?.form.action !== action) return h(TypedFields.Provider, { value: undefined }, children);
  again.isShown = true;
  return h(TypedFields.Provider, { value: again.form.fields }, children);
}

/** What was typed into a field; undefined if its form is not shown again. */
export function useTyped(name: string): string | undefined {
  const fields = useContext(TypedFields);
  if (fields === undefined) return undefined;
  const typed = fields[name];
  return typeof typed === 'string' ? typed : (typed?.at(-1) ?? '');
}

/** Whether the form with this action is shown again. */
export const useIsShownAgain = (action: string): boolean =>
  useContext(FormShownAgain)?.form.action === action;

/** Whether a box outside of its form was ticked. */
export function useIsTicked(name: string, value: string): boolean {
  const typed = useContext(FormShownAgain)?.form.fields[name];
  return [typed].flat().includes(value);
}
