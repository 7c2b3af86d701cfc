import { h } from 'preact';
import type { ErrorReply } from '../../http/responses/errors.ts';
import type { Reference } from '../../pages/reference.ts';
import type { Files } from './layout.ts';
import { glyph, referenceLine, renderPage } from './layout.ts';

interface RefusalText {
  readonly title: string;
  readonly text: string;
}

const REFUSAL_TEXTS: Readonly<Record<number, RefusalText>> = {
  400: {
    title: 'That did not work',
    text: 'The form arrived damaged. Open your payment link again and send it once more.',
  },
  403: {
    title: 'This form came from another site',
    text: 'Open your payment link again and use the form on that page.',
  },
  404: {
    title: 'Payment page not found',
    text: 'Check that the link is complete, or ask the merchant for a new one.',
  },
  413: {
    title: 'That is too long',
    text: 'Open your payment link again and say it in 10 to 2000 characters.',
  },
  429: {
    title: 'Too many requests',
    text: 'Many people use this page at the moment. Try again in a few seconds.',
  },
};

const SERVER_ERROR_TEXT: RefusalText = {
  title: 'Something went wrong',
  text:
    'The fault is ours. Open your payment link again in a minute: it shows whether what you did ' +
    'has arrived.',
};

/** Renders the error page of a request that shows no order. */
export function refusalPage({ status }: ErrorReply, reference: Reference, files: Files): string {
  const { title, text } = REFUSAL_TEXTS[status] ?? SERVER_ERROR_TEXT;
  return renderPage(
    { title, files, isSandbox: false },
    h(
      'section',
      { class: 'state', 'aria-labelledby': 'state' },
      glyph('bad'),
      h('h1', { id: 'state' }, title),
      h('p', null, text),
      referenceLine(reference),
    ),
  );
}
