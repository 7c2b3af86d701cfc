import { h } from 'preact';
import type { Reference } from '../pages/reference.ts';
import { referenceText } from '../pages/reference.ts';
import type { View } from './view/layout.ts';
import { notice } from './view/parts.ts';
import { link } from './view/url.ts';

const TITLES: Readonly<Record<number, string>> = {
  400: 'That did not work',
  403: 'Not allowed',
  404: 'Not found',
  413: 'Too large',
  429: 'Too many requests',
  502: 'The payment gateway cannot be reached',
};

const TEXTS: Readonly<Record<number, string>> = {
  404: 'There is nothing at this address, or it is not yours.',
  500: 'The fault is ours. Go back and try again; nothing is done twice.',
};

/** The page of a request that was refused. @param start the path of the page to go back to */
export function refusalView({
  status,
  message,
  reference,
  start,
}: {
  status: number;
  message: string;
  reference: Reference;
  start: string;
}): View {
  return {
    title: TITLES[status] ?? 'Something went wrong',
    content: [
      notice(status === 404 ? 'plain' : 'bad', TEXTS[status] ?? message, 'alert'),
      h('p', null, link(start, 'To the start page', { class: 'button second' })),
      h('p', { class: 'hint' }, referenceText(reference)),
    ],
  };
}
