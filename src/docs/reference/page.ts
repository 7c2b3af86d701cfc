import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { brandOf, FAVICON, iconAt, PRODUCT } from '../../pages/brand.ts';
import type { Document, LocatedOperation, Schema } from '../openapi/document.ts';
import { componentOf, jsonOf, operationsOf } from '../openapi/document.ts';
import { objectTable, parameterTable, prose } from './fields.ts';
import { asJson, codeBlock, operationSection } from './operation.ts';

/** A chapter of the guide. */
export interface Chapter {
  /** Of its URL. */
  readonly name: string;
  readonly title: string;
  /** Markdown, without the title. */
  readonly text: string;
}

/** Objects that several responses share; each has one section. */
const OBJECTS = [
  'Order',
  'OrderStatus',
  'Buyer',
  'Dispute',
  'DisputeDecision',
  'Refund',
  'Payment',
  'Cancellation',
  'Timeline',
  'PaymentSession',
  'Environment',
];

interface Parts {
  readonly document: Document;
  readonly chapters: readonly Chapter[];
  readonly operations: readonly LocatedOperation[];
  readonly objects: readonly string[];
}

const linkTo = (id: string, text: string) => h('li', null, h('a', { href: `#${id}` }, text));

function linkGroup(title: string, links: readonly ComponentChildren[]) {
  return [h('p', null, title), h('ul', null, links)];
}

function contents({ document, chapters, operations, objects }: Parts) {
  const { tags, webhooks } = document;
  return [
    linkGroup(
      'Guide',
      chapters.map(({ name, title }) => linkTo(`guide-${name}`, title)),
    ),
    tags.map(({ name }) =>
      linkGroup(
        name,
        operations
          .filter(({ operation }) => operation.tags.includes(name))
          .map(({ operation }) => linkTo(operation.operationId, operation.summary)),
      ),
    ),
    linkGroup(
      'Webhook events',
      Object.keys(webhooks).map((event) => linkTo(`event-${event}`, event)),
    ),
    linkGroup(
      'Objects',
      objects.map((name) => linkTo(`object-${name}`, name)),
    ),
  ];
}

/** Beside the text on a wide screen; on a phone the script closes it. */
function navigation(parts: Parts) {
  return h(
    'nav',
    { class: 'contents', 'aria-label': 'Contents' },
    h(
      'p',
      { class: 'search', hidden: true },
      h('label', { for: 'search' }, 'Search'),
      h('input', { id: 'search', type: 'search', autocomplete: 'off' }),
      h('output', { for: 'search', 'aria-live': 'polite' }),
    ),
    h('details', { open: true }, h('summary', null, 'Contents'), contents(parts)),
  );
}

function chapterSections({ chapters }: Parts) {
  return chapters.map(({ name, title, text }) =>
    h(
      'section',
      { class: 'chapter', id: `guide-${name}`, 'aria-labelledby': `guide-${name}-title` },
      h('h2', { id: `guide-${name}-title` }, title),
      prose(text),
    ),
  );
}

function operationSections({ document, operations }: Parts) {
  return document.tags.map(({ name, description }) => [
    h('h2', { class: 'group' }, name),
    prose(description),
    operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map((located) => operationSection(document, located)),
  ]);
}

/**
 * All events have the same headers and fields, so one table, from the first event, describes them.
 */
function eventSections({ document: { webhooks, components } }: Parts) {
  const [first] = Object.values(webhooks);
  const body = jsonOf(first?.post.requestBody)?.schema;
  const payload = components.schemas[(body && componentOf(body)) ?? ''];
  return [
    h('h2', { class: 'group' }, 'Webhook events'),
    parameterTable('Headers of every event', first?.post.parameters ?? [], 'service'),
    payload && objectTable('Body of every event', payload, 'service'),
    Object.entries(webhooks).map(([event, { post }]) =>
      h(
        'section',
        { class: 'entry', id: `event-${event}`, 'aria-labelledby': `event-${event}-title` },
        h(
          'div',
          { class: 'facts' },
          h('h3', { id: `event-${event}-title` }, event),
          prose(post.description),
        ),
        h(
          'div',
          { class: 'examples' },
          codeBlock('Body', asJson(jsonOf(post.requestBody)?.example)),
        ),
      ),
    ),
  ];
}

/** The fields of an object, or the values of an enum. */
function objectContent(name: string, schema: Schema) {
  const { enum: values } = schema;
  if (!values) return objectTable(`Fields of ${name}`, schema, 'service');
  return h(
    'ul',
    null,
    values.map((value) => h('li', null, h('code', null, String(value)))),
  );
}

function objectSections({ document, objects }: Parts) {
  return [
    h('h2', { class: 'group' }, 'Objects'),
    objects.map((name) =>
      h(
        'section',
        { class: 'object', id: `object-${name}`, 'aria-labelledby': `object-${name}-title` },
        h('h3', { id: `object-${name}-title` }, name),
        objectContent(name, document.components.schemas[name] ?? {}),
      ),
    ),
  ];
}

const TITLE = 'Guide and API reference';

/** Here and below URLs are relative, so that the page also works behind a path prefix. */
function head() {
  return h(
    'head',
    null,
    h('meta', { charset: 'utf-8' }),
    h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
    h('title', null, `${TITLE} · ${PRODUCT.name}`),
    h('link', { rel: 'icon', href: `.${FAVICON.path}` }),
    h('link', { rel: 'stylesheet', href: 'docs/reference.css' }),
    h('script', { src: 'docs/reference.js', defer: true }),
  );
}

function header() {
  const mark = iconAt('.', 'badge-indian-rupee');
  return h(
    'header',
    null,
    h('a', { class: 'brand', href: './' }, brandOf(mark, PRODUCT)),
    h(
      'nav',
      { class: 'site', 'aria-label': 'Site' },
      h('a', { href: 'docs', 'aria-current': 'page' }, 'Documentation'),
      h('a', { href: 'dashboard' }, 'Dashboard'),
    ),
  );
}

/** The page in other formats. */
const FORMATS = [
  ['OpenAPI document', 'openapi.json'],
  ['Postman collection', 'postman.json'],
  ['OpenCollection', 'opencollection.json'],
  ['Markdown', 'docs.md'],
] as const;

/** What the page is about, and the same in other formats. */
function introduction({ version, description }: Document['info']) {
  return h(
    'div',
    { class: 'introduction' },
    h('h1', null, TITLE),
    // The rest of it says where this page is.
    prose(description.replace(/\n\n[^]*/, '')),
    h(
      'p',
      { class: 'formats' },
      h('span', null, `Version ${version}`),
      FORMATS.map(([text, href]) => h('a', { href }, text)),
    ),
  );
}

/** Renders the guide and an OpenAPI document as one HTML page, which needs no script to be read. */
export function renderReference(document: Document, chapters: readonly Chapter[]): string {
  const objects = OBJECTS.filter((name) => name in document.components.schemas);
  const parts: Parts = { document, chapters, operations: operationsOf(document), objects };
  const page = h(
    'html',
    { lang: 'en' },
    head(),
    h(
      'body',
      null,
      h('a', { class: 'skip', href: '#content' }, 'Skip to the content'),
      header(),
      navigation(parts),
      h(
        'main',
        { id: 'content' },
        introduction(document.info),
        chapterSections(parts),
        operationSections(parts),
        eventSections(parts),
        objectSections(parts),
      ),
    ),
  );
  return `<!doctype html>${renderToString(page)}`;
}
