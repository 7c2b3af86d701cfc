import { h } from 'preact';
import type { Route } from '../../http/define-route.ts';
import type { Readiness } from '../../http/server/readiness.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { icon } from '../view/icon.ts';
import { facts, section, tag } from '../view/parts.ts';
import { link } from '../view/url.ts';

/** What the pages of the site need beside the dashboard's. */
export interface SiteDeps {
  /** Whether the service can serve, shown on its first page. */
  readiness: Readiness;
  /** Shows the design language at `/dashboard/patterns`: not in production. */
  showsPatterns: boolean;
}

/** How the parts of the service are called on the page. */
const PARTS: Readonly<Record<string, string>> = {
  database: 'API and dashboard',
  temporal: 'Payments and webhooks',
};

/** The service's first page: what it is, the log-in, the documentation, and whether it works. */
export function landingPage(context: PageContext, { readiness }: SiteDeps): Route[] {
  return definePage(context, { audience: 'site', method: 'GET', path: '' }).handledBy(
    async ({ viewer: { user } }) => {
      const { checks } = await readiness.check();
      const content = [
        h(
          'div',
          { class: 'hero' },
          h('h1', null, 'Paid by UPI. Held until it is delivered.'),
          h(
            'p',
            { class: 'lead' },
            'Create an order in rupees and send the buyer a payment link. The money is held while you deliver, and released to you 24 hours after the delivery unless the buyer raises a dispute.',
          ),
          h(
            'p',
            { class: 'actions' },
            user === undefined
              ? [
                  link('/dashboard/sign-up', 'Create an account', { class: 'button' }),
                  link('/dashboard/login', 'Log in', { class: 'button second' }),
                ]
              : link('/dashboard', 'To your dashboard', { class: 'button' }),
          ),
        ),
        h('div', { class: 'columns' }, documentation(), status(checks)),
      ];
      return { view: { title: 'Merchant payments', content, hasOwnHeading: true, isWide: true } };
    },
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
  const states = Object.entries(checks).map(([name, state]) => [
    PARTS[name] ?? name,
    state === 'up' ? tag('good', 'Works') : tag('bad', 'Does not work at the moment'),
  ]);
  return section('status', 'Status', facts(Object.fromEntries(states)));
}
