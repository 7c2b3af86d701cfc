import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Environment } from '../../domain/index.ts';
import { submit } from './fields.ts';
import { form, link, withPathPrefix } from './url.ts';

/** The URLs of the files that pages load. */
export interface Files {
  readonly style: string;
  readonly island: string;
  readonly icon: string;
}

/** Who looks at the page, which decides what surrounds its content. */
export type Frame =
  | { readonly kind: 'signedOut' }
  | {
      readonly kind: 'merchant';
      readonly name: string;
      readonly environment: Environment;
      /** The same page in the other environment, or its home where the page has no counterpart. */
      readonly otherPath: string;
    }
  | { readonly kind: 'operator'; readonly role: string };

/** What a page's handler returns: its title and its content. */
export interface View {
  readonly title: string;
  readonly content: ComponentChildren;
  /** Reloads the page when the JSON at `path` says another version than this one. */
  readonly live?: { readonly path: string; readonly version: string };
  /** Without the usual heading, because the content has one. */
  readonly hasOwnHeading?: boolean;
}

/** What surrounds the content of a page. */
export interface Layout {
  readonly frame: Frame;
  readonly files: Files;
  /** Of the response's Content-Security-Policy. */
  readonly nonce: string;
  readonly pathPrefix: string;
  /** The path of this page, to mark it in the navigation. */
  readonly path: string;
  /** Notices above the content, such as webhooks that are about to fail. */
  readonly banners: ComponentChildren;
}

const MERCHANT_PAGES = [
  ['', 'Home'],
  ['/orders', 'Orders'],
  ['/statements', 'Statements'],
  ['/disputes', 'Disputes'],
  ['/deliveries', 'Deliveries'],
  ['/webhooks', 'Webhooks'],
  ['/keys', 'Keys'],
  ['/onboarding', 'Business'],
  ['/account', 'Account'],
] as const;

const OPERATOR_PAGES = [
  ['', 'Work queue'],
  ['/orders', 'Orders'],
  ['/disputes', 'Disputes'],
  ['/proposals', 'Proposals'],
  ['/merchants', 'Merchants'],
  ['/ledger', 'Ledger'],
  ['/audit', 'Audit'],
  ['/operators', 'Operators'],
  ['/account', 'Account'],
] as const;

const ENVIRONMENT_TEXTS = {
  sandbox: { title: 'Sandbox', text: 'No real money moves here.', other: 'Switch to production' },
  production: { title: 'Production', text: 'Real payments.', other: 'Switch to sandbox' },
} as const satisfies Record<Environment, { title: string; text: string; other: string }>;

function environmentBar(environment: Environment, otherPath: string) {
  const { title, text, other } = ENVIRONMENT_TEXTS[environment];
  return h(
    'aside',
    { class: `environment ${environment}`, 'aria-label': 'Environment' },
    h('p', null, h('strong', null, title), ' ', text),
    link(otherPath, other),
  );
}

function navigation(base: string, pages: readonly (readonly [string, string])[], path: string) {
  const isCurrent = (to: string) =>
    to === base ? path === to : path === to || path.startsWith(`${to}/`);
  return h(
    'nav',
    { 'aria-label': 'Main' },
    pages.map(([below, title]) => {
      const to = base + below;
      return link(to, title, isCurrent(to) ? { 'aria-current': 'page' } : {});
    }),
  );
}

function logOut() {
  return form('/dashboard/logout', { class: 'log-out' }, submit('Log out', 'small'));
}

function header(frame: Frame, path: string) {
  switch (frame.kind) {
    case 'signedOut':
      return h('header', null, h('p', { class: 'brand' }, 'Merchant payments'));
    case 'merchant':
      return [
        environmentBar(frame.environment, frame.otherPath),
        h(
          'header',
          null,
          h('p', { class: 'brand', dir: 'auto' }, frame.name),
          logOut(),
          navigation(`/dashboard/${frame.environment}`, MERCHANT_PAGES, path),
        ),
      ];
    case 'operator':
      return h(
        'header',
        null,
        h('p', { class: 'brand' }, `Operators · ${frame.role}`),
        logOut(),
        navigation('/operator', OPERATOR_PAGES, path),
      );
  }
}

function head(title: string, { files, nonce }: Layout) {
  return h(
    'head',
    null,
    h('meta', { charset: 'utf-8' }),
    h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
    h('meta', { name: 'robots', content: 'noindex' }),
    h('title', null, title),
    h('link', { rel: 'icon', href: files.icon }),
    h('link', { rel: 'stylesheet', href: files.style, nonce }),
    h('script', { src: files.island, defer: true, nonce }),
  );
}

function titleOf(view: View, frame: Frame): string {
  switch (frame.kind) {
    case 'signedOut':
      return `${view.title} · Merchant payments`;
    case 'merchant':
      return `${view.title} · ${ENVIRONMENT_TEXTS[frame.environment].title} · ${frame.name}`;
    case 'operator':
      return `${view.title} · Operators`;
  }
}

/** Renders a whole HTML document. */
export function renderView(view: View, layout: Layout): string {
  const { frame, pathPrefix, path, banners } = layout;
  const environment = frame.kind === 'merchant' ? frame.environment : undefined;
  const body = h(
    'body',
    { class: [frame.kind, environment].filter(Boolean).join(' ') },
    h('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
    header(frame, path),
    h(
      'main',
      {
        id: 'main',
        tabIndex: -1,
        'data-live': view.live && pathPrefix + view.live.path,
        'data-version': view.live?.version,
      },
      banners,
      !view.hasOwnHeading && h('h1', null, view.title),
      view.content,
      view.live &&
        h('p', {
          role: 'status',
          class: 'hint',
          'data-changed': 'This page has changed. Reload it to see the change.',
        }),
    ),
  );
  const page = h('html', { lang: 'en-IN' }, head(titleOf(view, frame), layout), body);
  return `<!doctype html>${renderToString(withPathPrefix(pathPrefix, page))}`;
}

/** A search form above a list: its fields in one row, and a button. */
export function filterForm(path: string, ...fields: ComponentChildren[]) {
  return form(path, { method: 'get', class: 'filter' }, ...fields, submit('Show', 'small'));
}
