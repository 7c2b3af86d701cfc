import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Environment } from '../../domain/index.ts';
import { brandOf, PRODUCT } from '../../pages/brand.ts';
import { environmentSwitch, MERCHANT_PAGES, navigation, OPERATOR_PAGES } from './navigation.ts';
import { notice, wordsOf } from './parts.ts';
import type { ShownAgain } from './typed.ts';
import { FormShownAgain } from './typed.ts';
import { icon, link, withPathPrefix } from './url.ts';

export interface Files {
  readonly style: string;
  readonly island: string;
  readonly icon: string;
}

/** The viewer, who decides what surrounds the content. */
export type Frame =
  | { readonly kind: 'signedOut' }
  | {
      readonly kind: 'merchant';
      readonly name: string;
      readonly environment: Environment;
      /** The same page in the other environment, or its first page if it has no such page. */
      readonly otherPath: string;
    }
  | { readonly kind: 'operator'; readonly role: string };

export interface View {
  readonly title: string;
  readonly content: ComponentChildren;
  /** Reloads the page when the JSON at `path` says another version than this one. */
  readonly live?: { readonly path: string; readonly version: string };
  /** At the end of the heading's line, such as the link that saves the list. */
  readonly beside?: ComponentChildren;
  /** Leaves out the usual heading, because the content has one. */
  readonly hasOwnHeading?: boolean;
  /** Wide although it is not a page of the dashboard. */
  readonly isWide?: boolean;
}

export interface Layout {
  readonly frame: Frame;
  readonly files: Files;
  /** The nonce in the response's Content-Security-Policy. */
  readonly nonce: string;
  readonly pathPrefix: string;
  /** The path of this page, which is marked in the navigation. */
  readonly path: string;
  /**
   * Notices about webhooks that are about to fail, above their list; on every page the way there has a mark in the
   * navigation.
   */
  readonly banners: ComponentChildren;
  /** What was typed into a form of the page that was refused. */
  readonly again?: ShownAgain | undefined;
}

const mark = () => icon('badge-indian-rupee');

function brand(name: string, below: string) {
  return h('p', { class: 'brand' }, brandOf(mark(), { name, below }));
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
