import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Language } from '../pages/language.ts';
import type { Letter } from './content.ts';

/** A letter as the two forms of a mail, which say the same. */
export interface RenderedLetter {
  subject: string;
  text: string;
  html: string;
}

const SENDER = 'Merchant Payments';

/** @param supportEmail where the reader can ask; undefined without SUPPORT_EMAIL */
const FOOTERS: Record<Language, (supportEmail: string | undefined) => string> = {
  en: (supportEmail) =>
    supportEmail === undefined ? SENDER : `${SENDER}. Questions? Write to ${supportEmail}`,
  hi: (supportEmail) =>
    supportEmail === undefined ? SENDER : `${SENDER}. कोई सवाल? ${supportEmail} पर लिखें`,
};

/** Fills in the two forms of a letter. The same letter makes the same bytes. */
export function renderLetter(letter: Letter, supportEmail: string | undefined): RenderedLetter {
  const footer = FOOTERS[letter.language ?? 'en'](supportEmail);
  return {
    subject: letter.subject,
    text: `${letterText(letter)}\n\n${footer}\n`,
    html: letterHtml(letter, footer),
  };
}

/** The paragraphs of a letter as plain text. */
export function letterText({ paragraphs }: Letter): string {
  return paragraphs.map(paragraphText).join('\n\n');
}

type Paragraph = Letter['paragraphs'][number];

function paragraphText(paragraph: Paragraph): string {
  if (typeof paragraph === 'string') return paragraph;
  if ('url' in paragraph) return `${paragraph.label}:\n${paragraph.url}`;
  return paragraph.facts.map(([name, value]) => `${name}: ${value}`).join('\n');
}

function paragraphHtml(paragraph: Paragraph) {
  if (typeof paragraph === 'string') return h('p', { dir: 'auto' }, paragraph);
  if ('url' in paragraph) {
    return h('p', null, h('a', { class: 'button', href: paragraph.url }, paragraph.label));
  }
  const rows = paragraph.facts.map(([name, value]) =>
    h('tr', { key: name }, h('th', { scope: 'row' }, name), h('td', { dir: 'auto' }, value)),
  );
  return h('table', null, h('tbody', null, rows));
}

/** Mail programs load nothing from elsewhere, and some know no custom properties of CSS. */
const STYLE = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
body { margin: 0; padding: 24px 12px; background: #f3f5f4; color: #17211d;
  font: 16px/1.55 system-ui, 'Segoe UI', Roboto, 'Noto Sans Devanagari', sans-serif; }
.card { max-width: 560px; margin: 0 auto; padding: 28px; border-radius: 12px; background: #fff;
  overflow-wrap: anywhere; }
h1 { margin: 0 0 20px; font-size: 22px; line-height: 1.35; }
p { margin: 0 0 16px; white-space: pre-line; }
table { width: 100%; margin: 0 0 20px; border-collapse: collapse; }
th, td { padding: 9px 0; border-bottom: 1px solid #dbe2de; vertical-align: top; text-align: left; }
th { padding-right: 16px; color: #55625c; font-weight: 400; overflow-wrap: normal; }
.card > :last-child { margin-bottom: 0; }
td { text-align: right; }
.button { display: inline-block; padding: 11px 20px; border-radius: 8px; background: #0b6b4f;
  color: #fff; font-weight: 600; text-decoration: none; }
.footer { max-width: 560px; margin: 16px auto 0; padding: 0 28px; color: #55625c; font-size: 14px; }
@media (prefers-color-scheme: dark) {
  body { background: #0f1513; color: #ecf2ef; }
  .card { background: #19211e; }
  th, td { border-color: #33403a; }
  th, .footer { color: #a5b3ac; }
  .button { background: #4fd1a5; color: #06251b; }
}
@media (max-width: 420px) {
  .card, .footer { padding-left: 18px; padding-right: 18px; }
}
`;

function letterHtml({ language = 'en', subject, paragraphs }: Letter, footer: string): string {
  const page = h(
    'html',
    { lang: language },
    h(
      'head',
      null,
      h('meta', { charset: 'utf-8' }),
      h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
      h('meta', { name: 'color-scheme', content: 'light dark' }),
      h('title', null, subject),
      h('style', null, STYLE),
    ),
    h(
      'body',
      null,
      h(
        'main',
        { class: 'card' },
        h('h1', { dir: 'auto' }, subject),
        paragraphs.map(paragraphHtml),
      ),
      h('p', { class: 'footer' }, footer),
    ),
  );
  return `<!doctype html>${renderToString(page)}`;
}
