import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { StoredMail } from './store.ts';

/** The current two-factor code of a demo user. */
export interface SignInCode {
  email: string;
  code: string;
  validForSeconds: number;
}

/** The path of the style sheet. */
export const STYLE_PATH = '/mailbox.css';

function renderPage(title: string, content: ComponentChildren): string {
  const page = h(
    'html',
    { lang: 'en' },
    h(
      'head',
      null,
      h('meta', { charset: 'utf-8' }),
      h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
      h('title', null, title),
      h('link', { rel: 'icon', href: 'data:,' }),
      h('link', { rel: 'stylesheet', href: STYLE_PATH }),
    ),
    h('body', null, h('main', null, content)),
  );
  return `<!doctype html>${renderToString(page)}`;
}

function time(at: Date | undefined) {
  if (at === undefined) return null;
  const shown = at.toISOString().replace('T', ' ').slice(0, 19);
  return h('time', { datetime: at.toISOString() }, `${shown} UTC`);
}

function mailLine({ id, to, subject, at }: StoredMail) {
  const link = h('a', { href: `/mails/${id}`, dir: 'auto' }, subject || '(no subject)');
  return h('li', { key: id }, link, h('p', null, `to ${to}, `, time(at)));
}

function codeLine({ email, code, validForSeconds }: SignInCode) {
  const spaced = `${code.slice(0, 3)} ${code.slice(3)}`;
  return h(
    'li',
    { key: email },
    h('strong', { class: 'code' }, spaced),
    h('p', null, `${email}, for ${validForSeconds} s. Then reload the page.`),
  );
}

/** The page with the latest mails, and the codes of demo users. */
export function listPage(mails: readonly StoredMail[], codes: readonly SignInCode[]): string {
  const list =
    mails.length === 0
      ? h('p', null, 'No mails yet. Reload the page after the service has sent one.')
      : h('ol', { class: 'list' }, mails.map(mailLine));
  const signIn = [h('h2', null, 'Sign-in codes'), h('ul', { class: 'list' }, codes.map(codeLine))];
  return renderPage('Mailbox', [
    h('h1', null, 'Mailbox'),
    ...(codes.length > 0 ? signIn : []),
    h('h2', null, 'Mails'),
    list,
  ]);
}

/** An address in a text: it ends before punctuation that ends a sentence. */
const ADDRESS = /(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]}'])/;

/** The text with its addresses as links; `split` puts each address at an odd index. */
function withLinks(text: string): ComponentChildren[] {
  return text
    .split(ADDRESS)
    .map((part, index) =>
      index % 2 === 1 ? h('a', { href: part, rel: 'noreferrer' }, part) : part,
    );
}

/** The page of one mail. */
export function mailPage({ id, from, to, subject, at, text }: StoredMail): string {
  return renderPage(subject, [
    h('p', null, h('a', { href: '/' }, 'All mails')),
    h('h1', { dir: 'auto' }, subject || '(no subject)'),
    h(
      'dl',
      null,
      h('dt', null, 'From'),
      h('dd', null, from),
      h('dt', null, 'To'),
      h('dd', null, to),
      h('dt', null, 'Date'),
      h('dd', null, time(at)),
    ),
    h('iframe', { src: `/mails/${id}/html`, title: 'The mail', sandbox: 'allow-popups' }),
    h('h2', null, 'As plain text'),
    h('pre', { dir: 'auto' }, withLinks(text)),
  ]);
}

/** The page for a request that cannot be answered. */
export function problemPage(problem: string): string {
  return renderPage(problem, [
    h('h1', null, problem),
    h('p', null, h('a', { href: '/' }, 'All mails')),
  ]);
}
