import { h } from 'preact';
import type { Environment } from '../../domain/index.ts';
import { ENVIRONMENTS } from '../../domain/index.ts';
import type { IconName } from '../../pages/icons.ts';
import { wordsOf } from './parts.ts';
import { form, icon, link } from './url.ts';

/** Its path is relative to the first page of the audience. */
interface NavigationPage {
  readonly below: string;
  readonly title: string;
  readonly icon: IconName;
  /** The path of other pages of the same subject. */
  readonly also?: string;
}

/** The first pages are in the bar of a phone, the others behind its button. */
type Navigation = Readonly<Record<'first' | 'others', readonly NavigationPage[]>>;

export const MERCHANT_PAGES: Navigation = {
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

export const OPERATOR_PAGES: Navigation = {
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

/** @param path of the page that is shown @param marked the path below `base` of one that needs attention */
export function navigation(
  base: string,
  { first, others }: Navigation,
  path: string,
  marked?: string,
) {
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

/** The way to the other environment. @param otherPath as in `Frame` */
export function environmentSwitch(environment: Environment, otherPath: string) {
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
