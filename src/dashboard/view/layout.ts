import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Environment } from '../../domain/index.ts';
import { ENVIRONMENTS } from '../../domain/index.ts';
import { brandOf, PRODUCT } from '../../pages/brand.ts';
import type { IconName } from '../../pages/icons.ts';
import { submit } from './fields.ts';
import { notice, wordsOf } from './parts.ts';
import type { FormState, ShownAgain } from './typed.ts';
import { FormShownAgain, withState } from './typed.ts';
import { form, icon, link, withPathPrefix } from './url.ts';

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
  /** At the end of the heading's line, such as the link that saves what the page lists. */
  readonly beside?: ComponentChildren;
  /** Without the usual heading, because the content has one. */
  readonly hasOwnHeading?: boolean;
  /** Wide although it is not a page of the dashboard. */
  readonly isWide?: boolean;
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
  /**
   * Notices about webhooks that are about to fail, above their list; on every page the way there has a mark in the
   * navigation.
   */
  readonly banners: ComponentChildren;
  /** What was typed into a form of the page that was not carried out. */
  readonly again?: ShownAgain | undefined;
}

/** A page of the navigation: below the first page of its audience. */
interface NavigationPage {
  readonly below: string;
  readonly title: string;
  readonly icon: IconName;
  /** Other pages of the same subject. */
  readonly also?: string;
}

/** The first pages are in the bar of a phone, the others behind its button. */
interface Navigation {
  readonly first: readonly NavigationPage[];
  readonly others: readonly NavigationPage[];
}

const MERCHANT_PAGES: Navigation = {
  first: [
    { below: '', title: 'Home', icon: 'house' },
    { below: '/orders', title: 'Orders', icon: 'shopping-bag' },
    { below: '/disputes', title: 'Disputes', icon: 'scale' },
    { below: '/statements', title: 'Statements', icon: 'file-text' },
  ],
  others: [
    { below: '/webhooks', title: 'Webhooks', icon: 'webhook', also: '/deliveries' },
    { below: '/keys', title: 'API keys', icon: 'key-round' },
    { below: '/onboarding', title: 'Business', icon: 'building-2' },
    { below: '/account', title: 'Account', icon: 'circle-user' },
  ],
};

const OPERATOR_PAGES: Navigation = {
  first: [
    { below: '', title: 'Work queue', icon: 'inbox' },
    { below: '/orders', title: 'Orders', icon: 'shopping-bag' },
    { below: '/disputes', title: 'Disputes', icon: 'scale' },
    { below: '/merchants', title: 'Merchants', icon: 'store' },
  ],
  others: [
    { below: '/alerts', title: 'Alerts', icon: 'triangle-alert' },
    { below: '/proposals', title: 'Proposals', icon: 'clipboard-check' },
    { below: '/ledger', title: 'Ledger', icon: 'wallet' },
    { below: '/audit', title: 'Audit', icon: 'scroll-text' },
    { below: '/operators', title: 'Operators', icon: 'users' },
    { below: '/account', title: 'Account', icon: 'circle-user' },
  ],
};

function navigation(base: string, { first, others }: Navigation, path: string, marked?: string) {
  const isIn = (to: string) =>
    to === base ? path === to : path === to || path.startsWith(`${to}/`);
  const entry = ({ below, title, icon: name, also }: NavigationPage) => {
    const isCurrent = isIn(base + below) || (also !== undefined && isIn(base + also));
    const current = isCurrent ? { 'aria-current': 'page' as const } : {};
    const mark = below === marked && h('span', { class: 'mark-of' }, icon('triangle-alert'));
    const hint = mark && h('span', { class: 'hidden' }, ' need attention');
    return link(base + below, [icon(name), title, hint, mark], current);
  };
  return h(
    'nav',
    { class: 'nav', 'aria-label': 'Main' },
    first.map(entry),
    h('button', { type: 'button', popovertarget: 'more' }, icon('ellipsis'), 'More'),
    h(
      'div',
      { id: 'more', popover: 'auto' },
      others.map(entry),
      link('/docs', [icon('book-open'), 'Documentation']),
      form(
        '/dashboard/logout',
        { class: 'log-out' },
        h('button', null, icon('log-out'), 'Log out'),
      ),
    ),
  );
}

const mark = () => icon('badge-indian-rupee');

function brand(name: string, below: string) {
  return h('p', { class: 'brand' }, brandOf(mark(), { name, below }));
}

/** The two environments of a merchant, of which one is shown. */
function environmentSwitch(environment: Environment, otherPath: string) {
  return h(
    'nav',
    { class: 'switch', 'aria-label': 'Environment' },
    ENVIRONMENTS.map((one) =>
      one === environment
        ? h('span', { key: one, 'aria-current': 'true' }, wordsOf(one))
        : link(otherPath, wordsOf(one)),
    ),
  );
}

const LIST_OF_WEBHOOKS = /\/deliveries$/;

function header(frame: Frame, path: string, marked: string | undefined) {
  switch (frame.kind) {
    case 'signedOut':
      return h(
        'header',
        null,
        link('/', brandOf(mark(), PRODUCT), { class: 'brand' }),
        h(
          'nav',
          { class: 'site', 'aria-label': 'Site' },
          link('/docs', 'Documentation'),
          link('/dashboard', 'Dashboard'),
        ),
      );
    case 'merchant':
      return h(
        'header',
        null,
        brand(frame.name, PRODUCT.name),
        environmentSwitch(frame.environment, frame.otherPath),
        navigation(`/dashboard/${frame.environment}`, MERCHANT_PAGES, path, marked),
      );
    case 'operator':
      return h(
        'header',
        null,
        brand('Operators', wordsOf(frame.role)),
        navigation('/operator', OPERATOR_PAGES, path),
      );
  }
}

function sandboxNotice(frame: Frame) {
  if (frame.kind !== 'merchant' || frame.environment !== 'sandbox') return null;
  return h(
    'aside',
    { class: 'environment', 'aria-label': 'Sandbox' },
    icon('flask-conical'),
    h('p', null, h('strong', null, 'Sandbox:'), ' no real money moves here.'),
  );
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
      return `${view.title} · ${PRODUCT.name}`;
    case 'merchant':
      return `${view.title} · ${wordsOf(frame.environment)} · ${frame.name}`;
    case 'operator':
      return `${view.title} · Operators`;
  }
}

/** Renders a whole HTML document. */
export function renderView(view: View, layout: Layout): string {
  const { frame, pathPrefix, path, banners, again } = layout;
  const environment = frame.kind === 'merchant' ? frame.environment : undefined;
  const body = h(
    'body',
    { class: [frame.kind, environment].filter(Boolean).join(' ') },
    h('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
    header(frame, path, banners ? '/webhooks' : undefined),
    h(
      'main',
      {
        id: 'main',
        class: view.isWide ? 'wide' : undefined,
        tabIndex: -1,
        'data-live': view.live && pathPrefix + view.live.path,
        'data-version': view.live?.version,
      },
      sandboxNotice(frame),
      !view.hasOwnHeading && h('div', { class: 'toolbar' }, h('h1', null, view.title), view.beside),
      again && !again.refusal && notice('bad', again.notice, 'alert'),
      LIST_OF_WEBHOOKS.test(path) && banners,
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
  const withTyped = h(FormShownAgain.Provider, { value: again }, page);
  return `<!doctype html>${renderToString(withPathPrefix(pathPrefix, withTyped))}`;
}

/** A search form above a list: its fields in one row, and a button. */
export function filterForm(path: string, state: FormState, ...fields: ComponentChildren[]) {
  const content = [withState(state, ...fields), submit('Show', 'small')];
  return form(path, { method: 'get', class: 'filter' }, ...content);
}
