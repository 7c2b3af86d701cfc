import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { Environment, OrderStatus } from '../../domain/index.ts';
import { relativeText, rupeesText, timeText } from '../../pages/format.ts';
import type { IconName } from '../../pages/icons.ts';
import type { ListedDelivery } from '../../webhooks/public.ts';
import { icon, link } from './url.ts';

/** The colour of a notice or a tag; its icon and its text say the same. */
export type Tone = 'plain' | 'info' | 'wait' | 'good' | 'bad' | 'back';

const TONE_ICONS = {
  plain: 'info',
  info: 'info',
  wait: 'clock',
  good: 'circle-check',
  bad: 'triangle-alert',
  back: 'undo-2',
} as const satisfies Record<Tone, IconName>;

/**
 * A message to the reader.
 *
 * @param role `alert` for the refusal of what was just submitted, `status` for its success
 */
export function notice(tone: Tone, text: ComponentChildren, role?: 'alert' | 'status') {
  return h('div', { class: `notice ${tone}`, role }, icon(TONE_ICONS[tone]), h('div', null, text));
}

/** The results of forms, by the code in the query of the page that is shown after them. */
export type Outcomes = Readonly<Record<string, string | { tone: Tone; text: string }>>;

/** Shows what was just done; nothing for an unknown code. */
export function doneNotice(outcomes: Outcomes, code: string | undefined) {
  const outcome = code !== undefined && Object.hasOwn(outcomes, code) && outcomes[code];
  if (!outcome) return null;
  const { tone, text } =
    typeof outcome === 'string' ? { tone: 'good' as const, text: outcome } : outcome;
  return notice(tone, text, 'status');
}

/** A short state, such as that of an order or a webhook. @param name of its icon, if not that of the tone */
export function tag(tone: Tone, text: string, name: IconName = TONE_ICONS[tone]) {
  return h('span', { class: `tag ${tone}` }, icon(name), text);
}

interface StatusLook {
  readonly tone: Tone;
  readonly text: string;
  readonly icon: IconName;
}

export const ORDER_STATUS_LOOKS = {
  ACCEPTED: { tone: 'wait', text: 'Waiting for payment', icon: 'circle-dashed' },
  PAID: { tone: 'info', text: 'Paid', icon: 'badge-indian-rupee' },
  DELIVERED: { tone: 'info', text: 'Delivered', icon: 'truck' },
  DISPUTE_OPEN: { tone: 'bad', text: 'Disputed', icon: 'triangle-alert' },
  DISPUTE_UNDER_REVIEW: { tone: 'bad', text: 'Under review', icon: 'gavel' },
  COMPLETED: { tone: 'good', text: 'Completed', icon: 'circle-check' },
  REFUNDED: { tone: 'back', text: 'Refunded', icon: 'undo-2' },
  CANCELLED: { tone: 'plain', text: 'Cancelled', icon: 'ban' },
} as const satisfies Record<OrderStatus, StatusLook>;

/** The title is the API's word. */
export function orderStatus(status: OrderStatus) {
  return statusTag(ORDER_STATUS_LOOKS[status], status);
}

export const DELIVERY_STATE_LOOKS = {
  PENDING: { tone: 'wait', text: 'Waiting', icon: 'clock' },
  DELIVERED: { tone: 'good', text: 'Accepted', icon: 'circle-check' },
  FAILED: { tone: 'bad', text: 'Failed', icon: 'circle-x' },
} as const satisfies Record<ListedDelivery['state'], StatusLook>;

/** The title is the API's word. */
export function deliveryState(state: ListedDelivery['state']) {
  return statusTag(DELIVERY_STATE_LOOKS[state], state);
}

function statusTag({ tone, text, icon: name }: StatusLook, title: string) {
  return h('span', { class: `tag ${tone}`, title }, icon(name), text);
}

export function environmentTag(environment: Environment) {
  return environment === 'sandbox'
    ? tag('plain', 'Sandbox', 'flask-conical')
    : tag('info', 'Production', 'badge-indian-rupee');
}

/** The text of a list or a part of a page that is empty. */
export function emptyState(text: ComponentChildren, name: IconName = 'inbox') {
  return h('p', { class: 'empty' }, icon(name), h('span', null, text));
}

/**
 * The heading of a page of one object, below the way to it.
 *
 * @param way the list that the object is in, and which one it is
 */
export function objectHead(
  { path, list, one }: { path: string; list: string; one: ComponentChildren },
  ...heading: ComponentChildren[]
) {
  return h(
    'div',
    { class: 'head' },
    h('p', { class: 'crumbs' }, link(path, list), ' › ', one),
    h('h1', null, ...heading),
  );
}

/** @param id unique on the page */
export function section(id: string, title: string, ...children: ComponentChildren[]) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': id },
    h('h2', { id }, title),
    ...children,
  );
}

/**
 * A part of a page with settings: on a wide screen its heading and what it is about stand beside its form.
 *
 * @param id unique on the page
 */
export function setting(
  id: string,
  title: string,
  about: ComponentChildren,
  ...children: ComponentChildren[]
) {
  return h(
    'section',
    { class: 'card setting', 'aria-labelledby': id },
    h('div', { class: 'about' }, h('h2', { id }, title), about && h('p', null, about)),
    h('div', null, ...children),
  );
}

/** Names with their values; entries whose value is null, undefined or false are left out. */
export function facts(entries: Readonly<Record<string, ComponentChildren>>) {
  const shown = Object.entries(entries).filter(
    ([, value]) => value !== null && value !== undefined && value !== false,
  );
  return namesAndValues('facts', shown);
}

export function figures(entries: Readonly<Record<string, ComponentChildren>>) {
  return namesAndValues('figures', Object.entries(entries));
}

function namesAndValues(name: string, entries: readonly [string, ComponentChildren][]) {
  return h(
    'dl',
    { class: name },
    entries.map(([term, value]) =>
      h('div', { key: term }, h('dt', null, term), h('dd', null, value)),
    ),
  );
}

/** A smaller text below a figure, such as the figure that it is compared with. */
export const below = (text: string | null) => text !== null && h('span', { class: 'before' }, text);

/** The main content, and other content beside it. @param label of the latter, for screen readers */
export function split(main: ComponentChildren[], label: string, beside: ComponentChildren[]) {
  return h(
    'div',
    { class: 'split' },
    h('div', null, ...main),
    h('aside', { 'aria-label': label }, ...beside),
  );
}

/** A name of the API or the database as words: `linkedAccountId` as "Linked account id". */
export function wordsOf(name: string): string {
  return capitalised(name.replaceAll(/[_.]|(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase());
}

export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A sentence in smaller and paler text. */
export const hint = (...children: ComponentChildren[]) => h('p', { class: 'hint' }, ...children);

/** A text that a person has written, in either direction of writing and with its line breaks. */
export function written(text: string) {
  return h('blockquote', { dir: 'auto' }, text);
}

export function money(amountPaise: number) {
  const sign = amountPaise === 0 ? 'money zero' : 'money';
  return h('span', { class: sign }, rupeesText(amountPaise));
}

/** A time in India with the time relative to now, which the page's script keeps current. */
export function moment(at: Date, now = new Date()) {
  return h(
    'time',
    { dateTime: at.toISOString() },
    timeText(at),
    ' ',
    h(
      'span',
      { class: 'relative', 'data-relative': at.toISOString() },
      `(${relativeText(at, now)})`,
    ),
  );
}

/** A link that saves what a page lists as a CSV file. */
export function csvLink(to: string, label = 'Save as CSV') {
  return link(to, [icon('download'), label], { class: 'button small' });
}

export interface Step {
  title: string;
  state: 'done' | 'current' | 'open';
  to?: ComponentChildren;
}

export function stepper(label: string, steps: readonly Step[]) {
  return h(
    'ol',
    { class: 'stepper', 'aria-label': label },
    steps.map(({ title, state, to }) =>
      h(
        'li',
        { key: title, class: state, 'aria-current': state === 'current' ? 'step' : undefined },
        to ?? title,
        state === 'done' && h('span', { class: 'hidden' }, ' (done)'),
      ),
    ),
  );
}

/** Figures and other details for few readers: a line of text that opens. */
export function more(summary: string, ...children: ComponentChildren[]) {
  return h('details', { class: 'more' }, h('summary', null, summary), ...children);
}

/** Shown on demand, such as the command that does the same through the API. */
export function details(summary: ComponentChildren, ...children: ComponentChildren[]) {
  return h('details', null, h('summary', null, summary), ...children);
}
