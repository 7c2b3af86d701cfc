import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { hidden, submit } from './fields.ts';
import type { View } from './layout.ts';
import { facts, money } from './parts.ts';
import { form, link } from './url.ts';

/** The field that a form sends once its question was answered. */
export const CONFIRMED_FIELD = 'confirmed';

/** The question before money moves: see {@link confirmationView}. */
interface Question {
  readonly title: string;
  readonly amountPaise: number;
  /** Who gets the money. */
  readonly to: ComponentChildren;
  /** What happens then. */
  readonly consequence: ComponentChildren;
  /** More that the reader has to see, such as the words that the other side will read. */
  readonly more?: ComponentChildren;
  readonly button: string;
  /** Where the form is sent, and what it sends beside the answer. */
  readonly action: string;
  readonly values: Readonly<Record<string, string | undefined>>;
  /** The page to go back to. */
  readonly back: string;
}

/**
 * Asks before money moves: how much, to whom, and that it cannot be undone. It is a page of its own; the browser's
 * script shows it as a dialog above the form that asks (`data-asks`).
 */
export function confirmationView(question: Question): View {
  const { title, amountPaise, to, consequence, more, button, action, values, back } = question;
  const given = Object.entries(values).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const content = h(
    'section',
    { class: 'confirmation', 'aria-labelledby': 'confirmation' },
    h('h1', { id: 'confirmation' }, title),
    h('p', { class: 'amount' }, money(amountPaise)),
    facts({ To: to }),
    h('p', null, consequence, ' ', h('strong', null, 'This cannot be undone.')),
    more,
    form(
      action,
      {},
      given.map(([name, value]) => hidden(name, value)),
      hidden(CONFIRMED_FIELD, 'yes'),
      h(
        'p',
        { class: 'actions' },
        submit(button, 'danger'),
        link(back, 'Go back', { class: 'button second', 'data-close': '' }),
      ),
    ),
  );
  return { title, content, hasOwnHeading: true };
}
