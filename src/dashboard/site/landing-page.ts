import { h } from 'preact';
import type { Route } from '../../http/define-route.ts';
import type { Readiness } from '../../http/server/readiness.ts';
import { PRODUCT } from '../../pages/brand.ts';
import type { IconName } from '../../pages/icons.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { section, tag } from '../view/parts.ts';
import { codePanel } from '../view/texts.ts';
import { icon, link } from '../view/url.ts';

export interface SiteDeps {
  /** For the state of the service, which the first page shows. */
  readiness: Readiness;
  /** From the documentation. */
  createOrderCommand: string;
}

/** The names of the service's parts on the page. */
const PARTS: Readonly<Record<string, string>> = {
  database: 'API and dashboard',
  temporal: 'Payments and webhooks',
};

const STEPS: readonly { icon: IconName; title: string; text: string }[] = [
  {
    icon: 'shopping-bag',
    title: 'Created',
    text: 'Your server creates the order with one request. You send the buyer its payment link.',
  },
  {
    icon: 'badge-indian-rupee',
    title: 'Paid and held',
    text: 'The buyer pays by UPI. The money is held, and a webhook tells your server.',
  },
  {
    icon: 'truck',
    title: 'Delivered',
    text: 'You mark the order delivered. For 24 hours the buyer can raise a dispute.',
  },
  {
    icon: 'wallet',
    title: 'Released or refunded',
    text: 'Without a dispute the money is released to you. With one, it is released or refunded as the dispute ends.',
  },
];

export function landingPage(context: PageContext, deps: SiteDeps): Route[] {
  return definePage(context, 'site', 'GET /').handledBy(async ({ viewer: { user } }) => {
    const { checks } = await deps.readiness.check();
    const content = [
      h(
        'div',
        { class: 'hero' },
        introduction(user !== undefined),
        codePanel('Create an order', deps.createOrderCommand),
      ),
      section('steps', 'From the order to the money', steps()),
      h('div', { class: 'columns' }, documentation(), status(checks)),
    ];
    return { view: { title: PRODUCT.below, content, hasOwnHeading: true, isWide: true } };
  });
}

function introduction(isUser: boolean) {
  return h(
    'div',
    null,
    h('h1', null, 'Paid by UPI. ', h('br', null), 'Held until it is delivered.'),
    h(
      'p',
      { class: 'lead' },
      'Create an order in rupees and send the buyer a payment link. The money is held while you deliver, and released to you 24 hours after the delivery unless the buyer raises a dispute.',
    ),
    h(
      'p',
      { class: 'actions' },
      isUser
        ? link('/dashboard', 'To your dashboard', { class: 'button' })
        : [
            link('/dashboard/sign-up', 'Create an account', { class: 'button' }),
            link('/dashboard/login', 'Log in', { class: 'button second' }),
          ],
    ),
  );
}

function steps() {
  return h(
    'ol',
    { class: 'journey' },
    STEPS.map(({ icon: name, title, text }) =>
      h(
        'li',
        { key: title },
        h('span', { class: 'mark' }, icon(name)),
        h('h3', null, title),
        h('p', null, text),
      ),
    ),
  );
}

function documentation() {
  return section(
    'documentation',
    'Documentation',
    h(
      'ul',
      { class: 'list' },
      [
        ['/docs', 'Guide and API reference', 'book-open'] as const,
        ['/openapi.json', 'OpenAPI document', 'download'] as const,
        ['/postman.json', 'Postman collection', 'download'] as const,
      ].map(([path, text, name]) => h('li', { key: path }, icon(name), ' ', link(path, text))),
    ),
  );
}

function status(checks: Readonly<Record<string, 'up' | 'down'>>) {
  return section(
    'status',
    'Status',
    h(
      'ul',
      { class: 'list' },
      Object.entries(checks).map(([name, state]) =>
        h(
          'li',
          { key: name },
          state === 'up' ? tag('good', 'Works') : tag('bad', 'Does not work at the moment'),
          ' ',
          PARTS[name] ?? name,
        ),
      ),
    ),
  );
}
