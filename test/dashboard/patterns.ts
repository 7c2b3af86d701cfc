import { h } from 'preact';
import { createFiles } from '../../src/dashboard/routes.ts';
import { confirmationView } from '../../src/dashboard/view/confirmation.ts';
import {
  checkBox,
  choice,
  fileField,
  submit,
  textArea,
  textField,
} from '../../src/dashboard/view/fields.ts';
import { renderView } from '../../src/dashboard/view/layout.ts';
import { timeline } from '../../src/dashboard/view/order.ts';
import type { Tone } from '../../src/dashboard/view/parts.ts';
import {
  deliveryState,
  details,
  emptyState,
  figures,
  moment,
  money,
  notice,
  orderStatus,
  section,
  stepper,
  tag,
  written,
} from '../../src/dashboard/view/parts.ts';
import { codePanel, copyable } from '../../src/dashboard/view/texts.ts';
import type { FormState } from '../../src/dashboard/view/typed.ts';
import { withState } from '../../src/dashboard/view/typed.ts';
import { form, icon } from '../../src/dashboard/view/url.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { ICON_NAMES } from '../../src/pages/icons.ts';
import { DELIVERY_STATES } from '../../src/webhooks/public.ts';
import { navigation, plots, tables } from './list-patterns.ts';

/** Where a test shows them: the service has no such page. */
export const PATTERNS_PATH = '/dashboard/patterns';
const TONES: readonly Tone[] = ['plain', 'info', 'wait', 'good', 'bad', 'back'];
const AT = new Date('2026-11-22T12:30:00Z');

/** The page of the design language: every component in every state. */
export const patternsHtml = (): string =>
  renderView(
    // The question has the heading.
    { title: 'Patterns', content: patterns(), isWide: true, hasOwnHeading: true },
    {
      frame: { kind: 'signedOut' },
      files: createFiles('').files,
      nonce: '',
      pathPrefix: '',
      path: PATTERNS_PATH,
      banners: null,
    },
  );

function patterns() {
  return [
    typography(),
    statuses(),
    messages(),
    h('div', { class: 'columns' }, fields(), fieldsThatAreWrong()),
    navigation(PATTERNS_PATH),
    buttons(),
    tables(PATTERNS_PATH),
    plots(),
    texts(),
    confirmationView({
      title: 'Refund the buyer?',
      amountPaise: 49_950,
      to: 'Asha Menon, who paid by UPI',
      consequence: 'The whole amount of order DB-1001 goes back to the buyer.',
      button: 'Refund the buyer',
      action: PATTERNS_PATH,
      values: {},
      back: PATTERNS_PATH,
    }).content,
    icons(),
  ];
}

function typography() {
  return section(
    'typography',
    'Typography',
    h('p', { class: 'amount' }, money(12_345_678)),
    h('p', { class: 'lead' }, 'A leading sentence says what the reader has to know first.'),
    h('p', null, 'Body text is Inter at 15 pixels, with a line height of 1.5.'),
    h('p', { class: 'hint' }, 'A hint is smaller and softer.'),
    h('p', null, h('code', null, 'ORD01M89S5PGCBD325Y63WHGZ3SRN')),
    h('p', null, moment(AT, AT)),
    figures({ Paid: money(7_833_950), Released: money(4_566_100), Refunded: money(1_721_600) }),
  );
}

function statuses() {
  return section(
    'statuses',
    'Statuses',
    h('p', { class: 'actions' }, ORDER_STATUSES.map(orderStatus)),
    h('p', { class: 'actions' }, DELIVERY_STATES.map(deliveryState)),
    h(
      'p',
      { class: 'actions' },
      TONES.map((tone) => tag(tone, tone)),
    ),
  );
}

function messages() {
  return section(
    'messages',
    'Messages',
    ...TONES.map((tone) => notice(tone, `A message whose tone is ${tone}.`)),
    stepper('Steps', [
      { title: 'Done', state: 'done' },
      { title: 'Current', state: 'current' },
      { title: 'Open', state: 'open' },
    ]),
    emptyState('An empty list says so.'),
  );
}

/** Each kind of field, in a state. @param id makes the names unique on the page */
function fieldsOf(id: string, state: FormState) {
  const name = (field: string) => `${id}-${field}`;
  return form(
    PATTERNS_PATH,
    { method: 'get', 'aria-label': `Fields: ${id}` },
    withState(
      state,
      textField({ name: name('text'), label: 'A text', hint: 'What belongs here.' }),
      textField({ name: name('day'), label: 'A day', type: 'date', required: true }),
      choice({ name: name('choice'), label: 'A choice', choices: { a: 'First', b: 'Second' } }),
      textArea({ name: name('area'), label: 'A longer text' }),
      fileField({ name: name('file'), label: 'A file', accept: '.pdf' }),
      checkBox({ name: name('check'), label: 'A box', hint: 'What it means.' }),
    ),
    submit('Save'),
  );
}

const fields = () => section('fields', 'Fields', fieldsOf('field', { values: {} }));

function fieldsThatAreWrong() {
  const names = ['text', 'day', 'choice', 'area', 'file'];
  const violations = Object.fromEntries(names.map((name) => [name, 'must be something else']));
  const content = fieldsOf('wrong', { values: {}, violations });
  return section('wrong-fields', 'Fields with a violation', content);
}

function buttons() {
  return section(
    'buttons',
    'Buttons',
    h(
      'div',
      { class: 'actions' },
      submit('Main'),
      submit('Second', 'second'),
      submit('Danger', 'danger'),
      submit('Small', 'small'),
    ),
  );
}

function texts() {
  return section(
    'texts',
    'Texts to copy, of people, and on demand',
    copyable('example', 'curl https://api.example.com/healthz'),
    codePanel('Is it healthy?', 'curl https://api.example.com/healthz'),
    written('The kurta has another colour than the picture.'),
    details('More on demand', h('p', null, 'It is shown when it is asked for.')),
    timeline(
      [
        { what: 'Paid', at: AT, by: 'The buyer', details: { utr: '444657854129' } },
        { what: 'Created', at: AT },
      ],
      AT,
    ),
  );
}

function icons() {
  return section(
    'icons',
    'Icons',
    h(
      'ul',
      { class: 'list' },
      ICON_NAMES.map((name) => h('li', { key: name }, icon(name), ` ${name}`)),
    ),
  );
}
