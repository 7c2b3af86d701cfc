import { h } from 'preact';
import type { ErrorReply } from '../../http/responses/errors.ts';
import type { Reference } from '../../pages/reference.ts';
import type { Texts } from '../texts/en.ts';
import type { Files } from './layout.ts';
import { glyph, referenceLine, renderPage } from './layout.ts';

/** Renders the error page of a request that shows no order. */
export function refusalPage(
  { status }: ErrorReply,
  reference: Reference,
  files: Files,
  texts: Texts,
): string {
  const { title, text } = texts.refusals[status] ?? texts.serverError;
  return renderPage(
    { title, files, texts, isSandbox: false, path: '' },
    h(
      'section',
      { class: 'state', 'aria-labelledby': 'state' },
      glyph('bad'),
      h('h1', { id: 'state' }, title),
      h('p', null, text),
      referenceLine(reference, texts),
    ),
  );
}
