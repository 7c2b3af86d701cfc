import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Reference } from '../../pages/reference.ts';
import { referenceText } from '../../pages/reference.ts';
import type { Texts } from '../texts/en.ts';

export interface Files {
  readonly style: string;
  readonly island: string;
  readonly icon: string;
}

export interface Layout {
  readonly title: string;
  readonly files: Files;
  readonly texts: Texts;
  /** True: the page says that no real money moves. */
  readonly isSandbox: boolean;
  /** The page's path for the link that switches the language; '' for the path of the request. */
  readonly path: string;
  /** The data attributes for the script. Absent on pages that do not change. */
  readonly island?: Readonly<Record<`data-${string}`, string>> | undefined;
}

/** The icon of each tone. The text beside it says the same. */
const GLYPHS = {
  act: 'M6 4h12v16H6zM10 17h4',
  wait: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  good: 'M5 13l4 4 10-10',
  bad: 'M12 6v8M12 17v1',
} as const;

export type Tone = keyof typeof GLYPHS;

/** The icon of a tone, hidden from screen readers. */
export function glyph(tone: Tone) {
  return h(
    'svg',
    { class: `glyph ${tone}`, viewBox: '0 0 24 24', 'aria-hidden': 'true' },
    h('path', { d: GLYPHS[tone] }),
  );
}

/** A message beside the main one. `role` is `alert` for the result of the buyer's last action. */
export function notice(tone: Tone, text: ComponentChildren, role?: 'alert' | 'status') {
  return h('p', { class: `notice ${tone}`, role }, text);
}

/** The reference that a buyer quotes to support after a failed request. */
export function referenceLine(reference: Reference, texts: Texts) {
  return h('p', { class: 'reference' }, referenceText(reference, texts.reference));
}

/** A link to the same page in the other language. It works without the script. */
function languageSwitch(path: string, { languages, other: { language, name } }: Texts) {
  const href = `${path}?language=${language}`;
  return h(
    'nav',
    { class: 'language', 'aria-label': languages },
    h('a', { href, lang: language, hreflang: language }, name),
  );
}

export function renderPage(
  { title, files, texts, isSandbox, path, island }: Layout,
  content: ComponentChildren,
) {
  const page = h(
    'html',
    { lang: texts.htmlLang },
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
          h('strong', null, texts.sandbox),
          `: ${texts.sandboxNotice}`,
        ),
      h('main', island ?? null, languageSwitch(path, texts), content),
    ),
  );
  return `<!doctype html>${renderToString(page)}`;
}
