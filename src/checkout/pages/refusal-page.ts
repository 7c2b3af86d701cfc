import { h } from 'preact';
import type { ErrorReply } from '../../http/responses/errors.ts';
import type { Reference } from '../../pages/reference.ts';
import type { Texts } from '../texts/en.ts';
import type { Files } from './layout.ts';
import { quoted } from './dispute.ts';
import { glyph, referenceLine, renderPage } from './layout.ts';

/**
 * Renders the error page of a request that shows no order.
 *
 * @param typed the reason of a dispute, which the page repeats so that the buyer can copy it
 */
export function refusalPage(
  { status }: ErrorReply,
  reference: Reference,
  files: Files,
  texts: Texts,
  typed = '',
): string {
  const { title, text } = texts.refusals[status] ?? texts.serverError;
  return renderPage({ title, files, texts, isSandbox: false, path: '' }, [
    h(
      'section',
      { class: 'state', 'aria-labelledby': 'state' },
      glyph('bad'),
      h('h1', { id: 'state' }, title),
      h('p', null, text),
      referenceLine(reference, texts),
    ),
    typed.trim() !== '' && quoted('h2', texts.disputes.unsent, typed),
  ]);
}
