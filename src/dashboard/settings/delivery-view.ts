import { h } from 'preact';
import type { Environment } from '../../domain/index.ts';
import type {
  AttemptDetails,
  AttemptSummary,
  MerchantDelivery,
  RetryOutcome,
  SentRequest,
} from '../../webhooks/public.ts';
import { ERASED } from '../../orders/public.ts';
import { numberText } from '../../pages/format.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import {
  copyable,
  deliveryState,
  doneNotice,
  facts,
  moment,
  notice,
  objectHead,
  section,
} from '../view/parts.ts';
import { shortId, shortMoment } from '../view/short-texts.ts';
import { dataTable, pager, pathWith } from '../view/table.ts';
import { form, link } from '../view/url.ts';
import { resultText } from './delivery-parts.ts';
import { IN_ENVIRONMENT, pathOf } from './deps.ts';

/** What the page of a delivery shows. */
export interface DeliveryContent {
  environment: Environment;
  delivery: MerchantDelivery;
  /** The attempt that is shown in full; undefined without any. */
  shown: AttemptDetails | undefined;
  /** Of the page of attempts. */
  before: number | undefined;
  /** What came of sending it again. */
  done?: string | undefined;
  /** Why it was not sent again. */
  refusal?: string;
}

const DONE = {
  delivered: { tone: 'good', text: 'It was sent again, and your server has accepted it.' },
  refused: {
    tone: 'bad',
    text: 'It was sent again, and your server has not accepted it: see the last attempt.',
  },
  started: { tone: 'wait', text: 'It is being sent again. Reload this page to see the answer.' },
} as const satisfies Record<RetryOutcome['outcome'], unknown>;

/** The page of one delivery. */
export function deliveryView(content: DeliveryContent): View {
  const { environment, delivery, shown, done, refusal } = content;
  const path = pathOf(environment, `/deliveries/${delivery.deliveryId}`);
  return {
    title: `Webhook ${delivery.event}`,
    hasOwnHeading: true,
    content: [
      deliveryHead(environment, delivery),
      refusal !== undefined && notice('bad', refusal, 'alert'),
      doneNotice(DONE, done),
      h(
        'div',
        { class: 'split' },
        h('div', null, attemptsSection(content, path), shown && attemptSection(shown, delivery)),
        h('aside', { 'aria-label': 'Details' }, deliverySection(content, path)),
      ),
    ],
  };
}

function deliveryHead(environment: Environment, { event, state }: MerchantDelivery) {
  return objectHead(
    { path: pathOf(environment, '/deliveries'), list: 'Webhooks', one: event },
    h('span', { class: 'hidden' }, 'Webhook '),
    event,
    deliveryState(state),
  );
}

function deliverySection({ environment, delivery }: DeliveryContent, path: string) {
  const { deliveryId, eventId, orderNumber, state, createdAt, nextAttemptAt, isUnderWay } =
    delivery;
  return section(
    'delivery',
    'Webhook',
    facts({
      Order: shortId('order number', orderNumber, pathOf(environment, `/orders/${orderNumber}`)),
      'Event id': shortId('event id', eventId),
      'Webhook id': shortId('webhook id', deliveryId),
      Created: moment(createdAt),
      'Next attempt': isUnderWay
        ? 'Running now'
        : state === 'PENDING' && nextAttemptAt && moment(nextAttemptAt),
    }),
    ...(delivery.isErased
      ? [h('p', { class: 'hint' }, "The buyer's data was erased: it cannot be sent again.")]
      : resendForm(environment, path)),
  );
}

function resendForm(environment: Environment, path: string) {
  return [
    h(
      'p',
      { class: 'hint' },
      'Your server gets the same event_id and the same bytes, with a new signature.',
      environment === 'production' &&
        ' This is production: if your server has handled the event already, it must recognise it.',
    ),
    form(`${path}/resend`, {}, submit(`Send it again ${IN_ENVIRONMENT[environment]}`, 'second')),
  ];
}

/** How an attempt was begun. */
const KINDS = { scheduled: 'Scheduled', manual: 'By hand' } as const;

function attemptsSection({ delivery, before }: DeliveryContent, path: string) {
  const { attempts, olderAttempts } = delivery;
  const query = (attempt: number) => ({
    attempt: String(attempt),
    before: before === undefined ? undefined : String(before),
  });
  return section(
    'attempts',
    'Attempts',
    dataTable<AttemptSummary>({
      caption: 'Attempts, newest first',
      rows: attempts,
      empty: 'There was no attempt yet.',
      columns: [
        {
          title: 'Time',
          cell: ({ at, attemptId }) => link(pathWith(path, query(attemptId)), shortMoment(at)),
        },
        { title: 'Kind', cell: ({ kind }) => KINDS[kind] },
        { title: 'Answer', cell: resultText },
        {
          title: 'Duration',
          isNumber: true,
          cell: ({ durationMs }) => `${numberText(durationMs)} ms`,
        },
      ],
    }),
    pager(
      path,
      {},
      {
        before: before?.toString(),
        next: olderAttempts === null ? undefined : String(olderAttempts),
      },
    ),
  );
}

function attemptSection(attempt: AttemptDetails, { isErased }: MerchantDelivery) {
  const { at, kind, url, durationMs } = attempt;
  return section(
    'attempt',
    'The attempt in full',
    facts({
      Time: moment(at),
      Kind: kind === 'scheduled' ? 'One of the five of the schedule' : 'Sent again by hand',
      URL: h('code', null, url),
      Answer: resultText(attempt),
      Duration: `${numberText(durationMs)} ms`,
    }),
    h('h3', null, 'The request as it was sent'),
    isErased ? h('p', null, ERASED) : requestPart(attempt),
    h('h3', null, 'The body of the answer'),
    isErased ? h('p', null, ERASED) : answerPart(attempt),
  );
}

function requestPart({ request }: AttemptDetails) {
  return request === null
    ? h('p', null, 'Nothing was sent, because the URL was refused.')
    : [
        h('p', { class: 'hint' }, 'The body is indented here. The copy is what was sent.'),
        copyable(
          'request',
          requestText(request),
          requestText({ ...request, body: indented(request.body) }),
        ),
      ];
}

function answerPart({ answer }: AttemptDetails) {
  if (answer === null) return h('p', null, 'There was no answer.');
  if (answer === '') return h('p', null, 'It is empty, or no longer kept.');
  return h('pre', { tabIndex: 0, role: 'group', 'aria-label': 'answer', dir: 'auto' }, answer);
}

const indented = (json: string) => JSON.stringify(JSON.parse(json), null, 2);

/** The request as HTTP/1.1 writes it. */
function requestText({ method, path, headers, body }: SentRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\n');
}
