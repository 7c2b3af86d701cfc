import { h } from 'preact';
import { z } from 'zod';
import type { Environment } from '../../domain/index.ts';
import { ERASED } from '../../orders/public.ts';
import { numberText } from '../../pages/format.ts';
import type {
  AttemptDetails,
  AttemptSummary,
  MerchantDelivery,
  RetryOutcome,
  SentRequest,
} from '../../webhooks/public.ts';
import { findAttempt, findMerchantDelivery, retryForMerchant } from '../../webhooks/public.ts';
import { refused, submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import {
  deliveryState,
  doneNotice,
  facts,
  hint,
  moment,
  objectHead,
  section,
  split,
} from '../view/parts.ts';
import { dataTable, pager } from '../view/table.ts';
import { copyable, shortId, shortMoment } from '../view/texts.ts';
import { form, link, pathWith } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import type { SettingsDeps } from './parts.ts';
import { IN_ENVIRONMENT, resultText, settingsPage } from './parts.ts';

/** How long the page waits for the result of a resend. */
const WAIT_MS = 2500;

const params = z.object({ id: z.string() });
const attemptIdSchema = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER);
const query = z.object({
  attempt: attemptIdSchema.optional(),
  before: attemptIdSchema.optional(),
  done: z.string().optional(),
});

export const deliveryPages = [
  settingsPage('GET /deliveries/{id}', { params, query }).handledBy(
    async ({ viewer, params: { id }, query: chosen }, deps) => ({
      view: deliveryView(await readContent(deps, viewer, id, chosen)),
    }),
  ),
  settingsPage('POST /deliveries/{id}/resend', {
    params,
    formPath: '/deliveries/{id}',
    refusals: ['INVALID_STATE'],
  }).handledBy(async ({ viewer, params: { id }, actor }, deps) => {
    const { deliveryId } = await findMerchantDelivery(deps.sql, ownerOf(viewer), id);
    const { outcome } = await retryForMerchant({ ...deps, actor }, viewer.merchantId, {
      deliveryId,
      waitMs: WAIT_MS,
    });
    return { seeOther: pathOf(viewer, `/deliveries/${deliveryId}?done=${outcome}`) };
  }),
];

async function readContent(
  { sql }: SettingsDeps,
  viewer: MerchantViewer,
  deliveryId: string,
  { attempt, before, done }: z.output<typeof query>,
) {
  const delivery = await findMerchantDelivery(sql, ownerOf(viewer), deliveryId, before);
  const chosen = attempt ?? delivery.attempts[0]?.attemptId;
  const shown = chosen === undefined ? undefined : await findAttempt(sql, delivery, chosen);
  return { environment: viewer.environment, delivery, shown, before, done };
}

/** `shown` is the attempt that the page shows in full. */
type DeliveryContent = Awaited<ReturnType<typeof readContent>>;

const DONE = {
  delivered: { tone: 'good', text: 'It was sent again, and your server has accepted it.' },
  refused: {
    tone: 'bad',
    text: 'It was sent again, and your server has not accepted it: see the last attempt.',
  },
  started: { tone: 'wait', text: 'It is being sent again. Reload this page to see the answer.' },
} as const satisfies Record<RetryOutcome['outcome'], unknown>;

function deliveryView(content: DeliveryContent): View {
  const { environment, delivery, shown, done } = content;
  const path = pathOf({ environment }, `/deliveries/${delivery.deliveryId}`);
  return {
    title: `Webhook ${delivery.event}`,
    hasOwnHeading: true,
    content: [
      deliveryHead(environment, delivery),
      refused(),
      doneNotice(DONE, done),
      split([attemptsSection(content, path), shown && attemptSection(shown, delivery)], 'Details', [
        deliverySection(content, path),
      ]),
    ],
  };
}

function deliveryHead(environment: Environment, { event, state }: MerchantDelivery) {
  return objectHead(
    { path: pathOf({ environment }, '/deliveries'), list: 'Webhooks', one: event },
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
      Order: shortId(
        'order number',
        orderNumber,
        pathOf({ environment }, `/orders/${orderNumber}`),
      ),
      'Event id': shortId('event id', eventId),
      'Webhook id': shortId('webhook id', deliveryId),
      Created: moment(createdAt),
      'Next attempt': isUnderWay
        ? 'Running now'
        : state === 'PENDING' && nextAttemptAt && moment(nextAttemptAt),
    }),
    ...(delivery.isErased
      ? [hint("The buyer's data was erased: it cannot be sent again.")]
      : resendForm(environment, path)),
  );
}

function resendForm(environment: Environment, path: string) {
  return [
    hint(
      'Your server gets the same event_id and the same bytes, with a new signature.',
      environment === 'production' &&
        ' This is production: if your server has handled the event already, it must recognise it.',
    ),
    form(`${path}/resend`, {}, submit(`Send it again ${IN_ENVIRONMENT[environment]}`, 'second')),
  ];
}

const KINDS = { scheduled: 'Scheduled', manual: 'By hand' } as const;

function attemptsSection({ delivery, before }: DeliveryContent, path: string) {
  const { attempts, olderAttempts } = delivery;
  const queryOf = (attempt: number) => ({
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
      columns: {
        Time: ({ at, attemptId }) => link(pathWith(path, queryOf(attemptId)), shortMoment(at)),
        Kind: ({ kind }) => KINDS[kind],
        Answer: resultText,
        Duration: { isNumber: true, cell: ({ durationMs }) => `${numberText(durationMs)} ms` },
      },
    }),
    pager(path, {}, { before: before?.toString(), next: olderAttempts?.toString() }),
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
        hint('The body is indented here. The copy is what was sent.'),
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

/** The request in the format of HTTP/1.1. */
function requestText({ method, path, headers, body }: SentRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\n');
}
