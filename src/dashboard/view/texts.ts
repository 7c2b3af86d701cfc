import { h } from 'preact';
import { shorten, shortTimeText, wholeTimeText } from '../../pages/format.ts';
import { icon, link } from './url.ts';

/** An id shows its kind at the beginning, and what is random at the end. */
const SHOWN_OF_ID = { first: 4, last: 6 };
const USUAL_CHARACTERS = 40;

/**
 * An id of which a list shows the beginning and the end, such as `ORD0…5X3SRN`. Its title is the whole
 * id. The button that copies it works with the page's script, and is hidden without.
 *
 * @param name what it is, for the button: "order number"
 * @param to the path of its page, if it has one
 */
export function shortId(name: string, id: string, to?: string) {
  const { first, last } = SHOWN_OF_ID;
  const shown = id.length <= first + last + 1 ? id : `${id.slice(0, first)}…${id.slice(-last)}`;
  return idToCopy({ name, id, shown, to });
}

/** An id in full where there is room for it, with the button that copies it. See {@link shortId}. */
export function wholeId(name: string, id: string) {
  return idToCopy({ name, id, shown: id });
}

/** The link to an order: its name is the merchant's own id, or its number without one. */
export function shortOrder(
  to: string,
  { orderNumber, merchantOrderId }: { orderNumber: string; merchantOrderId: string | null },
) {
  return merchantOrderId === null
    ? shortId('order number', orderNumber, to)
    : link(to, shortText(merchantOrderId), { class: 'id' });
}

function idToCopy({
  name,
  id,
  shown,
  to,
}: {
  name: string;
  id: string;
  shown: string;
  to?: string | undefined;
}) {
  const code = h('code', { title: id }, shown);
  return h(
    'span',
    { class: 'id' },
    to === undefined ? code : link(to, code),
    h(
      'button',
      { type: 'button', class: 'copy', 'data-copy': id, hidden: true },
      h('span', { class: 'hidden', 'aria-live': 'polite' }, `Copy ${name}`),
      icon('copy'),
    ),
  );
}

/** A time in a list, in India: "27 Nov, 10:26 pm". Its title is the whole moment. */
export function shortMoment(at: Date, now = new Date()) {
  const attributes = { dateTime: at.toISOString(), title: wholeTimeText(at), class: 'moment' };
  return h('time', attributes, shortTimeText(at, now));
}

/** A text of any length and direction in a list, such as a URL: its title is the whole text if it is longer. */
export function shortText(text: string, maxCharacters = USUAL_CHARACTERS) {
  const shown = shorten(text, maxCharacters);
  return h('bdi', { title: shown === text ? undefined : text }, shown);
}

/**
 * A text to copy, such as a key or a command. The button works with the page's script, and is
 * hidden without.
 *
 * @param label what it is, for the button's name
 * @param shown the same text in the lines in which people read it
 */
export function copyable(label: string, text: string, shown = text) {
  return h(
    'div',
    { class: 'copyable' },
    h('pre', { tabIndex: 0, 'aria-label': label, role: 'group' }, h('code', null, shown)),
    copyButton(`Copy ${label}`, text, 'small'),
  );
}

/** A button that copies a text; it works with the page's script, and is hidden without. */
export function copyButton(label: string, text: string, kind: 'button' | 'small' = 'button') {
  return h(
    'button',
    { type: 'button', class: kind, 'data-copy': text, hidden: true },
    h('span', { 'aria-live': 'polite' }, label),
  );
}

/** Code for developers, with what it does above it. It is dark in both colour schemes, as in the documentation. */
export function codePanel(title: string, code: string) {
  return h(
    'figure',
    { class: 'code' },
    h('figcaption', null, title),
    h('pre', { tabIndex: 0, role: 'group', 'aria-label': title }, h('code', null, code)),
  );
}

/** A link that saves a text as a file; it works without a script. */
export function downloadText(label: string, fileName: string, text: string) {
  const href = `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
  return h('a', { class: 'button second', href, download: fileName }, label);
}
