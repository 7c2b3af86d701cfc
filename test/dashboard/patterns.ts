import { h } from 'preact';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { ICON_NAMES } from '../../src/pages/icons.ts';
import { DELIVERY_STATES } from '../../src/webhooks/public.ts';
import { confirmation } from '../../src/dashboard/view/confirmation.ts';
import type { FormState } from '../../src/dashboard/view/fields.ts';
import {
  checkBox,
  choice,
  fileField,
  submit,
  textArea,
  textField,
} from '../../src/dashboard/view/fields.ts';
import { chips, tabs } from '../../src/dashboard/view/filters.ts';
import { icon } from '../../src/dashboard/view/icon.ts';
import { createFiles } from '../../src/dashboard/files.ts';
import { filterForm, renderView } from '../../src/dashboard/view/layout.ts';
import { pages } from '../../src/dashboard/view/pages.ts';
import type { Tone } from '../../src/dashboard/view/parts.ts';
import {
  codePanel,
  copyable,
  deliveryState,
  details,
  emptyState,
  facts,
  moment,
  money,
  more,
  notice,
  orderStatus,
  section,
  stepper,
  tag,
  written,
} from '../../src/dashboard/view/parts.ts';
import { plotLegend, shortDay, stackedBars, timePlot } from '../../src/dashboard/view/plot.ts';
import { shortId, shortMoment, shortText } from '../../src/dashboard/view/short-texts.ts';
import type { Column } from '../../src/dashboard/view/table.ts';
import { timeline } from '../../src/dashboard/view/steps.ts';
import { dataTable } from '../../src/dashboard/view/table.ts';
import { form } from '../../src/dashboard/view/url.ts';

/** Where a test shows them: the service has no such page. */
export const PATTERNS_PATH = '/dashboard/patterns';
const TONES: readonly Tone[] = ['plain', 'info', 'wait', 'good', 'bad', 'back'];
const AT = new Date('2026-11-22T12:30:00Z');

/** The page of the design language: every component in every state. */
export const patternsHtml = (): string =>
  renderView(
    { title: 'Patterns', content: patterns(), isWide: true },
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
        action: PATTERNS_PATH,
        values: {},
        back: PATTERNS_PATH,
      },
      'h2',
    ),
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
    emptyState('An empty list says so.'),
  );
}

/** Each kind of field, in a state. @param id makes the names unique on the page */
function fieldsOf(id: string, state: FormState) {
  const name = (field: string) => `${id}-${field}`;
  return form(
    PATTERNS_PATH,
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
  const list = { path: PATTERNS_PATH, filters: {}, name: 'status', chosen: '' };
  return section(
    'navigation',
    'Filters and tabs',
    tabs(
      'Tabs',
      { [PATTERNS_PATH]: 'Current', [`${PATTERNS_PATH}#tables`]: 'Other' },
      PATTERNS_PATH,
    ),
    chips('Quick filters', list, [
      { value: '', title: 'All' },
      { value: 'paid', title: 'Paid', count: 12 },
      { value: 'disputed', title: 'Disputed', count: 0 },
    ]),
    filterForm(
      PATTERNS_PATH,
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

const ROWS = [
  { order: 'ORD01M89S5PGCBD325Y63WHGZ3SRN', paise: 49_950, status: 'COMPLETED' },
  { order: 'ORD01M89S5PGCBD325Y63WHGZ4TTP', paise: 1_29_900, status: 'DISPUTE_OPEN' },
] as const;
type Row = (typeof ROWS)[number];

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Order', cell: ({ order }) => shortId('order number', order, PATTERNS_PATH) },
  { title: 'Status', cell: ({ status }) => orderStatus(status) },
  {
    title: 'Description',
    cell: () => shortText('Blue kurta, size M, and a scarf of the same cloth'),
  },
  {
    title: 'Created',
    sort: { to: PATTERNS_PATH, order: 'descending' },
    cell: () => shortMoment(AT, AT),
  },
  {
    title: 'Amount',
    isNumber: true,
    sort: { to: PATTERNS_PATH },
    cell: ({ paise }) => money(paise),
  },
];

function tables() {
  const totals = [{ title: 'In all', cells: { Amount: money(1_79_850) } }];
  const empty = 'There are no orders.';
  return section(
    'tables',
    'Tables',
    dataTable({ caption: 'Orders', empty, rows: ROWS, columns: COLUMNS, totals }),
    pages({
      path: PATTERNS_PATH,
      filters: {},
      chosen: { page: 2, size: 25 },
      shown: 25,
      total: { count: 240, isMore: false },
    }),
    dataTable({ caption: 'No orders', empty, rows: [], columns: COLUMNS }),
    facts({ Name: 'Its value', Amount: money(49_950), Status: orderStatus('PAID') }),
  );
}

const DAYS = [
  { day: '2026-11-20', completed: 3, paid: 1, refunded: 1 },
  { day: '2026-11-21', completed: 5, paid: 2, refunded: 0 },
  { day: '2026-11-22', completed: 2, paid: 3, refunded: 1 },
];
const SERIES = { completed: 'Completed', paid: 'Paid', refunded: 'Refunded' };
const SERIES_NAMES = ['completed', 'paid', 'refunded'] as const;

function plots() {
  const textOf = (one: (typeof DAYS)[number]) =>
    `${shortDay(one.day)}: ${SERIES_NAMES.map((name) => `${SERIES[name]} ${one[name]}`).join(', ')}`;
  const readings = new Map(DAYS.map((one) => [one.day, textOf(one)]));
  return section(
    'plots',
    'Plots',
    plotLegend(SERIES),
    timePlot({
      id: 'pattern-plot',
      title: 'Orders by day',
      description: [...readings.values()].join('. '),
      spans: DAYS.map(({ day }) => day),
      most: 8,
      tickText: String,
      readingText: (day) => readings.get(day) ?? '',
      draw: (scales) => stackedBars(SERIES_NAMES, DAYS, ({ day }) => day, scales),
    }),
    more('The figures as a table', h('p', null, 'Every plot has its figures in words, too.')),
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
