import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Chapter } from '../docs.ts';
import type { Document, LocatedOperation, Schema } from './document.ts';
import { componentOf, jsonOf, operationsOf } from './document.ts';
import { objectTable, parameterTable, prose } from './fields.ts';
import { asJson, codeBlock, operationSection } from './operation.ts';

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

function navigation({ document, chapters, operations, objects }: Parts) {
  const { tags, webhooks } = document;
  return h(
    'nav',
    { 'aria-label': 'Contents' },
    h(
      'p',
      { class: 'search', hidden: true },
      h('label', { for: 'search' }, 'Search'),
      h('input', { id: 'search', type: 'search', autocomplete: 'off' }),
      h('output', { for: 'search', 'aria-live': 'polite' }),
    ),
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
  );
}

function chapterSections({ chapters }: Parts) {
  return chapters.map(({ name, title, text }) =>
    h(
      'section',
      { id: `guide-${name}`, 'aria-labelledby': `guide-${name}-title` },
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
        { id: `object-${name}`, 'aria-labelledby': `object-${name}-title` },
        h('h3', { id: `object-${name}-title` }, name),
        objectContent(name, document.components.schemas[name] ?? {}),
      ),
    ),
  ];
}

/** The URLs of what the page loads and links to, relative to the page. */
export interface ReferenceFiles {
  readonly style: string;
  readonly script: string;
  readonly openapi: string;
  readonly postman: string;
  readonly openCollection: string;
  /** The same text as Markdown. */
  readonly markdown: string;
}

function head(title: string, { style, script }: ReferenceFiles) {
  return h(
    'head',
    null,
    h('meta', { charset: 'utf-8' }),
    h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
    h('title', null, title),
    h('link', { rel: 'icon', href: 'data:,' }),
    h('link', { rel: 'stylesheet', href: style }),
    h('script', { src: script, defer: true }),
  );
}

/** Renders the guide and an OpenAPI document as one HTML page, which needs no script to be read. */
export function renderReference(
  document: Document,
  chapters: readonly Chapter[],
  files: ReferenceFiles,
): string {
  const { title, version, description } = document.info;
  const objects = OBJECTS.filter((name) => name in document.components.schemas);
  const parts: Parts = { document, chapters, operations: operationsOf(document), objects };
  const page = h(
    'html',
    { lang: 'en' },
    head(title, files),
    h(
      'body',
      null,
      h('a', { class: 'skip', href: '#content' }, 'Skip to the content'),
      h(
        'header',
        null,
        h('h1', null, title),
        h(
          'p',
          null,
          `Version ${version}`,
          ' · ',
          h('a', { href: files.openapi }, 'OpenAPI document'),
          ' · ',
          h('a', { href: files.postman }, 'Postman collection'),
          ' · ',
          h('a', { href: files.openCollection }, 'OpenCollection'),
          ' · ',
          h('a', { href: files.markdown }, 'Markdown'),
          ' · ',
          h('a', { href: 'dashboard' }, 'Dashboard'),
        ),
      ),
      navigation(parts),
      h(
        'main',
        { id: 'content' },
        prose(description),
        chapterSections(parts),
        operationSections(parts),
        eventSections(parts),
        objectSections(parts),
      ),
    ),
  );
  return `<!doctype html>${renderToString(page)}`;
}
