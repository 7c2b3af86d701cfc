import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { DomainError } from '../../domain/index.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import type { PageReply } from '../reply.ts';
import type { FormState } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { notice } from '../view/parts.ts';
import { link } from '../view/url.ts';

/** A form as it was refused. */
export interface RefusedForm extends FormState {
  /** What is wrong with the whole form. */
  readonly message?: string | undefined;
}

/** The message above a refused form; null above a new one. */
export function refusal({ message, violations }: RefusedForm): ComponentChildren {
  if (message !== undefined) return notice('bad', message, 'alert');
  if (violations === undefined) return null;
  return notice('bad', 'Something has to be corrected below.', 'alert');
}

/**
 * Runs a form's action. A form that is refused for what was typed is shown again with it.
 *
 * @param values what was typed; a password field never shows its value
 */
export async function orShowAgain(
  action: () => Promise<PageReply>,
  viewOf: (form: RefusedForm) => View | Promise<View>,
  values: FormState['values'] = {},
): Promise<PageReply> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ValidationError) {
      const form = { values, violations: error.validationErrors };
      return { status: 400, view: await viewOf(form) };
    }
    if (error instanceof DomainError && error.code === 'BAD_REQUEST') {
      return { status: 400, view: await viewOf({ values, message: error.message }) };
    }
    throw error;
  }
}

/**
 * Replaces the page "Not found" of a link that has expired or was used by one that says what to do.
 *
 * @param next the path where the reader gets another link, and its text
 */
export async function orDeadLink(
  action: () => Promise<PageReply>,
  next: readonly [path: string, text: string],
): Promise<PageReply> {
  try {
    return await action();
  } catch (error) {
    const isDead =
      error instanceof DomainError &&
      !(error instanceof ValidationError) &&
      (error.code === 'NOT_FOUND' || error.code === 'INVALID_STATE');
    if (!isDead) throw error;
    const links = h('p', null, link('/dashboard/login', 'Log in'), ' or ', link(...next));
    const content = [notice('bad', error.message, 'alert'), links];
    return { status: 404, view: { title: 'This link does not work', content } };
  }
}
