import { h } from 'preact';
import type { ListPage } from '../../db/list-part.ts';
import type { Environment } from '../../domain/index.ts';
import { EVENT_TYPES } from '../../domain/index.ts';
import { countText, numberText } from '../../pages/format.ts';
import type { ListedDelivery, ResendProgress } from '../../webhooks/public.ts';
import { DELIVERY_STATES } from '../../webhooks/public.ts';
import { choice, filterForm, hidden, refused, submit, textField } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import type { PageChoice } from '../view/pages.ts';
import { chips, emptyText, pages } from '../view/pages.ts';
import { DELIVERY_STATE_LOOKS, deliveryState, moment, notice, section } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortMoment, shortOrder } from '../view/texts.ts';
import { useIsTicked } from '../view/typed.ts';
import { form, link } from '../view/url.ts';
import { pathOf } from '../viewer.ts';
import { IN_ENVIRONMENT, resultText, webhookTabs } from './parts.ts';

export interface DeliveriesContent {
  environment: Environment;
  /** The filter as it was typed. */
  values: Readonly<Record<string, string | undefined>>;
  violations: Readonly<Record<string, string>>;
  chosen: PageChoice;
  list: ListPage<ListedDelivery>;
  resend: ResendProgress | undefined;
  /** The version of the resend: the page reloads when it changes. */
  version: string;
  /** How many deliveries the form has just sent again. */
  resent: number | undefined;
}

/** The id of the form below the table, to which the boxes of the rows belong. */
const SELECTION = 'selection';

const CHIPS = {
  '': 'All',
  ...Object.fromEntries(DELIVERY_STATES.map((state) => [state, DELIVERY_STATE_LOOKS[state].text])),
};

const namesOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]));

export function deliveriesView(content: DeliveriesContent): View {
  const { environment, values, violations, chosen, list, resend, version } = content;
  const { rows, total, hasMore } = list;
  const next = hasMore ? rows.at(-1)?.deliveryId : undefined;
  const path = pathOf({ environment }, '/deliveries');
  const isRunning = resend !== undefined && resend.finishedAt === null;
  return {
    title: 'Webhooks',
    ...(isRunning && { live: { path: `${path}/version`, version } }),
    content: [
      webhookTabs(environment, '/deliveries'),
      refused(),
      content.resent === 0 &&
        notice('plain', 'Nothing is sent again: everything since then has arrived.', 'status'),
      content.resent !== 0 && resend && resendNotice(resend),
      chips('Status', { path, filters: values, name: 'state', chosen: values['state'] }, CHIPS),
      filterForm(
        path,
        { values, violations },
        values['state'] && hidden('state', values['state']),
        choice({
          name: 'event',
          label: 'Event',
          placeholder: 'All',
          choices: namesOf(EVENT_TYPES),
        }),
        textField({ name: 'order', label: 'Order number', type: 'search' }),
        textField({ name: 'since', label: 'Since (IST)', type: 'datetime-local' }),
        textField({ name: 'until', label: 'Until (IST)', type: 'datetime-local' }),
      ),
      rows.length > 0 &&
        form(
          `${path}/resend`,
          { id: SELECTION },
          submit(`Send the selected ones again ${IN_ENVIRONMENT[environment]}`, 'small'),
        ),
      deliveryTable(content),
      pages({ path, filters: values, chosen, shown: rows.length, total, next }),
      resendSection(content, path),
    ],
  };
}

function Selection(box: { value: string; 'aria-label': string }) {
  const name = 'deliveries[]';
  const checked = useIsTicked(name, box.value);
  return h('input', { ...box, type: 'checkbox', form: SELECTION, name, checked });
}

function deliveryTable({ environment, values, chosen, list: { rows } }: DeliveriesContent) {
  const isFiltered = Object.values(values).some(Boolean);
  return dataTable({
    caption: 'Webhooks, newest first',
    isCompact: true,
    rows,
    empty: emptyText(chosen, isFiltered ? 'No webhook matches.' : 'No webhook was sent yet.'),
    columns: {
      Select: {
        inPlace: h('input', {
          type: 'checkbox',
          hidden: true,
          'data-select-all': SELECTION,
          'aria-label': 'Select all',
        }),
        cell: ({ deliveryId, event }) =>
          h(Selection, { value: deliveryId, 'aria-label': `Select ${event} ${deliveryId}` }),
      },
      Webhook: ({ deliveryId, event }) =>
        link(pathOf({ environment }, `/deliveries/${deliveryId}`), h('code', null, event)),
      Order: (delivery) =>
        shortOrder(pathOf({ environment }, `/orders/${delivery.orderNumber}`), delivery),
      Status: ({ state }) => deliveryState(state),
      Attempts: ({ attemptCount }) =>
        h('span', { class: 'id' }, countText(attemptCount, 'attempt')),
      'Last answer': lastAnswer,
      Created: ({ createdAt }) => shortMoment(createdAt),
      'Next attempt': ({ state, nextAttemptAt }) =>
        state === 'PENDING' && nextAttemptAt && shortMoment(nextAttemptAt),
    },
  });
}

function lastAnswer({ attemptCount, lastStatusCode, lastError }: ListedDelivery): string {
  if (attemptCount === 0) return 'None yet';
  return resultText({ statusCode: lastStatusCode, error: lastError });
}

function resendSection({ environment }: DeliveriesContent, path: string) {
  const isProduction = environment === 'production';
  return section(
    'resend',
    'Send again what has not arrived',
    h(
      'p',
      null,
      'Sends every webhook again that has failed since a time, or still waits since then, the ' +
        'oldest first and a few at a time. ',
      isProduction
        ? 'This is production: your server may have handled some of them already, and must recognise ' +
            'a repeat by its event_id.'
        : 'Your server must recognise a repeat by its event_id.',
    ),
    form(
      `${path}/resend-since`,
      {},
      textField({
        name: 'resend-since',
        label: 'Since (IST)',
        type: 'datetime-local',
        required: true,
      }),
      submit(`Send them again ${IN_ENVIRONMENT[environment]}`, 'second'),
    ),
  );
}

const STOPPED = {
  endpoint_refuses: 'It was stopped, because your server refused all of the last hundred.',
  no_url: 'It was stopped, because there is no webhook URL any more.',
} as const;
/** How long the result of a resend is shown. */
const SHOWN_MS = 3_600_000;

function resendNotice({ left, delivered, refused: count, finishedAt, stopCause }: ResendProgress) {
  const results = `${numberText(delivered)} accepted, ${numberText(count)} refused.`;
  if (finishedAt === null) {
    const are = left === 1 ? 'webhook is' : 'webhooks are';
    return notice('wait', `${numberText(left)} ${are} being sent again. ${results}`, 'status');
  }
  if (Date.now() - finishedAt.getTime() > SHOWN_MS) return null;
  const tone = stopCause || count > 0 ? 'bad' : 'good';
  const stopped = stopCause && ` ${STOPPED[stopCause]} ${numberText(left)} were not sent.`;
  return notice(tone, [`Sent again: ${results}`, stopped, ' ', moment(finishedAt)], 'status');
}
