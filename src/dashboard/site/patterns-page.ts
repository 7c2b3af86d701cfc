import { h } from 'preact';
import { ORDER_STATUSES } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import { ICON_NAMES } from '../../pages/icons.ts';
import { DELIVERY_STATES } from '../../webhooks/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { confirmation } from '../view/confirmation.ts';
import type { FormState } from '../view/fields.ts';
import { checkBox, choice, fileField, submit, textArea, textField } from '../view/fields.ts';
import { icon } from '../view/icon.ts';
import { filterForm } from '../view/layout.ts';
import type { Tone } from '../view/parts.ts';
import {
  copyable,
  deliveryState,
  details,
  facts,
  moment,
  money,
  notice,
  orderStatus,
  section,
  stepper,
  tag,
  written,
} from '../view/parts.ts';
import { bar, timePlot, plotLegend } from '../view/plot.ts';
import { dataTable } from '../view/table.ts';
import { form, link } from '../view/url.ts';

const PATH = '/dashboard/patterns';
const TONES: readonly Tone[] = ['plain', 'info', 'wait', 'good', 'bad', 'back'];
const AT = new Date('2026-11-22T12:30:00Z');

/** The design language: every component in every state, for those who build pages. Not in production. */
export function patternsPage(context: PageContext): Route[] {
  return definePage(context, { audience: 'anyone', method: 'GET', path: '/patterns' }).handledBy(
    async () => ({ view: { title: 'Patterns', content: patterns(), isWide: true } }),
  );
}

function patterns() {
  return [
    h(
      'p',
      { class: 'lead' },
      'The parts that pages are made of. Colours, sizes and spaces are the tokens of src/pages/base.css; the rules are in src/dashboard/browser/styles.',
    ),
    surfaces(),
    typography(),
    statuses(),
    messages(),
    h('div', { class: 'columns' }, fields(), fieldsThatAreWrong()),
    navigation(),
    buttons(),
    tables(),
    plots(),
    texts(),
    confirmation(
      {
        title: 'Refund the buyer?',
        amountPaise: 49_950,
        to: 'Asha Menon, who paid by UPI',
        consequence: 'The whole amount of order DB-1001 goes back to the buyer.',
        button: 'Refund the buyer',
        action: PATH,
        values: {},
        back: PATH,
      },
      'h2',
    ),
    icons(),
  ];
}

function surfaces() {
  const names = ['page', 'card', 'raised', 'sunken'];
  return section(
    'surfaces',
    'Surfaces',
    h(
      'ul',
      { class: 'swatches' },
      names.map((name) =>
        h('li', { key: name }, h('svg', { class: name, 'aria-hidden': 'true' }), `--${name}`),
      ),
    ),
  );
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
    h(
      'dl',
      { class: 'figures' },
      [
        ['Paid', 7_833_950],
        ['Released', 4_566_100],
        ['Refunded', 1_721_600],
      ].map(([name, paise]) =>
        h('div', { key: name }, h('dt', null, name), h('dd', null, money(Number(paise)))),
      ),
    ),
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
    h('p', { class: 'empty' }, 'An empty list says so.'),
  );
}

/** Each kind of field, in a state. @param id makes the names unique on the page */
function fieldsOf(id: string, state: FormState) {
  const name = (field: string) => `${id}-${field}`;
  return form(
    PATH,
    { method: 'get', 'aria-label': `Fields: ${id}` },
    textField({ name: name('text'), label: 'A text', hint: 'What belongs here.' }, state),
    textField({ name: name('day'), label: 'A day', type: 'date', required: true }, state),
    choice(
      { name: name('choice'), label: 'A choice', choices: { a: 'First', b: 'Second' } },
      state,
    ),
    textArea({ name: name('area'), label: 'A longer text', rows: 2 }, state),
    fileField({ name: name('file'), label: 'A file', accept: '.pdf' }, state),
    checkBox({ name: name('check'), label: 'A box', hint: 'What it means.' }, state),
    submit('Save'),
  );
}

const fields = () => section('fields', 'Fields', fieldsOf('field', {}));

function fieldsThatAreWrong() {
  const names = ['text', 'day', 'choice', 'area', 'file', 'check'];
  const violations = Object.fromEntries(
    names.map((name) => [`wrong-${name}`, 'must be something else']),
  );
  return section('wrong-fields', 'Fields with a violation', fieldsOf('wrong', { violations }));
}

function navigation() {
  return section(
    'navigation',
    'Filters and tabs',
    h(
      'nav',
      { class: 'tabs', 'aria-label': 'Tabs' },
      link(PATH, 'Current', { 'aria-current': 'page' }),
      link(PATH, 'Other'),
    ),
    h(
      'nav',
      { class: 'chips', 'aria-label': 'Quick filters' },
      link(PATH, 'All', { 'aria-current': 'page' }),
      link(PATH, 'Paid'),
      link(PATH, 'Disputed'),
    ),
    filterForm(
      PATH,
      textField({ name: 'filter-q', label: 'Search', type: 'search' }),
      textField({ name: 'filter-from', label: 'From', type: 'date' }),
    ),
  );
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

function tables() {
  const rows = [
    { order: 'DB-1001', amountPaise: 49_950, status: 'COMPLETED' as const },
    { order: 'DB-1002', amountPaise: 1_29_900, status: 'DISPUTE_OPEN' as const },
  ];
  return section(
    'tables',
    'Tables',
    dataTable({
      caption: 'Orders',
      empty: 'There are no orders.',
      rows,
      columns: [
        { title: 'Order', cell: ({ order }: (typeof rows)[number]) => link(PATH, order) },
        { title: 'Status', cell: ({ status }) => orderStatus(status) },
        { title: 'Amount', isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
      ],
    }),
    facts({ Name: 'Its value', Amount: money(49_950), Status: orderStatus('PAID') }),
  );
}

function plots() {
  const values: Readonly<Record<string, number>> = {
    '2026-11-20': 3,
    '2026-11-21': 5,
    '2026-11-22': 2,
  };
  const titles = { completed: 'Completed', paid: 'Paid', refunded: 'Refunded' };
  return section(
    'plots',
    'Plots',
    plotLegend(titles),
    timePlot({
      id: 'pattern-plot',
      title: 'Orders by day',
      description: 'Three, five and two orders.',
      spans: Object.keys(values),
      most: 5,
      tickText: String,
      readingText: (day) => `${day}: ${values[day]} orders`,
      draw: ({ left, width, y }) =>
        h(
          'g',
          { class: 'completed' },
          Object.entries(values).map(([day, value]) => bar(left(day), width, y(0), y(value))),
        ),
    }),
  );
}

function texts() {
  return section(
    'texts',
    'Texts to copy, of people, and on demand',
    copyable('example', 'curl https://api.example.com/healthz'),
    written('The kurta has another colour than the picture.'),
    details('More on demand', h('p', null, 'It is shown when it is asked for.')),
    h(
      'ol',
      { class: 'timeline' },
      h('li', null, h('p', null, h('strong', null, 'Paid'), ' ', moment(AT, AT))),
      h('li', null, h('p', null, h('strong', null, 'Created'), ' ', moment(AT, AT))),
    ),
  );
}

function icons() {
  return section(
    'icons',
    'Icons',
    h(
      'ul',
      { class: 'swatches' },
      ICON_NAMES.map((name) => h('li', { key: name }, icon(name), ` ${name}`)),
    ),
  );
}
