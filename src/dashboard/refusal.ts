import { h } from 'preact';
import type { TypedForm } from '../accounts/public.ts';
import type { ErrorCode } from '../domain/index.ts';
import { ERRORS } from '../http/responses/errors.ts';
import type { Reference } from '../pages/reference.ts';
import { referenceText } from '../pages/reference.ts';
import { CONFIRMED_FIELD } from './view/confirmation.ts';
import { hidden, submit } from './view/fields.ts';
import type { View } from './view/layout.ts';
import { hint, notice, section, wordsOf, written } from './view/parts.ts';
import { ownName } from './view/typed.ts';
import { form, link } from './view/url.ts';

const TITLES: Readonly<Record<number, string>> = {
  400: 'That did not work',
  403: 'Not allowed',
  404: 'Not found',
  408: 'Too slow',
  413: 'Too large',
  429: 'Too many requests',
  502: 'The payment gateway cannot be reached',
};

const TEXTS: Readonly<Record<number, string>> = {
  404: 'There is nothing at this address, or it is not yours.',
  500: 'The fault is ours. Go back and try again; nothing is done twice.',
};

/** All refusals but some, for the page of a form that shows those itself. */
export const refusalsExcept = (...others: ErrorCode[]): ErrorCode[] =>
  (Object.keys(ERRORS) as ErrorCode[]).filter((code) => !others.includes(code));

/** The message of a refusal, with the sentence that nothing was done; not after an unknown fault. */
export function notDone(message: string, status: number): string {
  if (status >= 500) return message;
  return `${/[.!?]$/.test(message) ? message : `${message}.`} Nothing was done.`;
}

/** The page of a request that was refused. @param start the path of the page to go back to */
export function refusalView({
  status,
  message,
  reference,
  start,
  typed = {},
  action,
}: {
  status: number;
  message: string;
  reference: Reference;
  start: string;
  /** What was typed into the form that was refused. */
  typed?: TypedForm['fields'];
  /** The path to which it can be sent again unchanged. */
  action?: string | undefined;
}): View {
  const text = TEXTS[status] ?? message;
  const said = Object.keys(typed).length > 0 ? notDone(text, status) : text;
  return {
    title: TITLES[status] ?? 'Something went wrong',
    content: [
      notice(status === 404 ? 'plain' : 'bad', said, 'alert'),
      typedTexts(typed),
      action !== undefined && sendAgain(action, typed),
      h('p', null, link(start, 'To the start page', { class: 'button second' })),
      hint(referenceText(reference)),
    ],
  };
}

/** Passwords and codes are never kept or shown: `codes-code` is one, `pinCode` is none. */
const SECRET = /password$|^(codes-)?code$/i;

/** The fields of a form that can be shown again: no secrets, no files, and not the answer to a question. */
export function typedFields(body: unknown): TypedForm['fields'] {
  const isShown = ([name, value]: [string, unknown]) =>
    !SECRET.test(name) &&
    name !== CONFIRMED_FIELD &&
    [value].flat().every((text) => typeof text === 'string');
  return Object.fromEntries(Object.entries((body ?? {}) as Record<string, string>).filter(isShown));
}

/** Hidden fields, which no person has typed. */
const UNSEEN = new Set(['next', 'version', 'idempotencyKey', 'confirmed']);

/** The texts of a form, for a page that does not have it. */
export function typedTexts(fields: TypedForm['fields']) {
  const texts = Object.entries(fields).flatMap(([name, value]) =>
    UNSEEN.has(labelPart(name)) ? [] : [[labelPart(name), [value].flat().join('\n')] as const],
  );
  const given = texts.filter(([, text]) => text.trim() !== '');
  if (given.length === 0) return null;
  return section(
    'typed',
    'What you typed',
    given.map(([name, text]) => [h('h3', { key: name }, wordsOf(name)), written(text)]),
  );
}

/** Without the order and action that the names of some fields begin with. */
const labelPart = (name: string): string => ownName(name).replace('[]', '');

function sendAgain(action: string, fields: TypedForm['fields']) {
  const entries = Object.entries(fields).flatMap(([name, value]) =>
    [value].flat().map((text) => [name, text] as const),
  );
  if (entries.length === 0) return null;
  return form(
    action,
    {},
    entries.map(([name, text]) => hidden(name, text)),
    submit('Send it again'),
  );
}
