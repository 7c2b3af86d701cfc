import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Tone } from '../../domain/index.ts';
import type { Reference } from '../../pages/reference.ts';
import { referenceText } from '../../pages/reference.ts';

/** The URLs of the pages' files. */
export interface Files {
  readonly style: string;
  readonly island: string;
  readonly icon: string;
}

/** What {@link renderPage} puts around the content of a page. */
export interface Layout {
  readonly title: string;
  readonly files: Files;
  /** Shows the notice that no real money moves. */
  readonly isSandbox: boolean;
  /** The data attributes of the script; absent where nothing can change. */
  readonly island?: Readonly<Record<`data-${string}`, string>> | undefined;
}

/** One glyph for each tone; the text beside it says the same. */
const GLYPHS = {
  act: 'M6 4h12v16H6zM10 17h4',
  wait: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  good: 'M5 13l4 4 10-10',
  bad: 'M12 6v8M12 17v1',
} as const satisfies Record<Tone, string>;

/** The icon of a tone; decorative, so hidden from screen readers. */
export function glyph(tone: Tone) {
  return h(
    'svg',
    { class: `glyph ${tone}`, viewBox: '0 0 24 24', 'aria-hidden': 'true' },
    h('path', { d: GLYPHS[tone] }),
  );
}

/** A message beside the main one; `alert` where it is the result of the buyer's last action. */
export function notice(tone: Tone, text: ComponentChildren, role?: 'alert' | 'status') {
  return h('p', { class: `notice ${tone}`, role }, text);
}

/** What a buyer whose request failed tells support. */
export function referenceLine(reference: Reference) {
  return h('p', { class: 'reference' }, referenceText(reference));
}

/** Renders a whole HTML document. */
export function renderPage(
  { title, files, isSandbox, island }: Layout,
  content: ComponentChildren,
) {
  const page = h(
    'html',
    { lang: 'en-IN' },
    h(
      'head',
      null,
      h('meta', { charset: 'utf-8' }),
      h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
      h('meta', { name: 'robots', content: 'noindex' }),
      h('title', null, title),
      h('link', { rel: 'icon', href: files.icon }),
      h('link', { rel: 'stylesheet', href: files.style }),
      island && h('script', { src: files.island, defer: true }),
    ),
    h(
      'body',
      null,
      isSandbox &&
        h(
          'aside',
          { class: 'sandbox' },
          h('strong', null, 'Sandbox'),
          ': no real money moves here.',
        ),
      h('main', island ?? null, content),
    ),
  );
  return `<!doctype html>${renderToString(page)}`;
}
