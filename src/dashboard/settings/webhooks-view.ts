import { h } from 'preact';
import type { Environment } from '../../domain/index.ts';
import { numberText } from '../../pages/format.ts';
import type {
  AttemptsOfHour,
  Endpoint,
  EndpointFigures,
  TestEventResult,
  TestEventType,
} from '../../webhooks/public.ts';
import { testEventTypesOf } from '../../webhooks/public.ts';
import { choice, hidden, submit, textField } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { doneNotice, facts, figures, moment, notice, section, setting } from '../view/parts.ts';
import { stackedPlot } from '../view/plot.ts';
import { form, link } from '../view/url.ts';
import { pathOf } from '../viewer.ts';
import { IN_ENVIRONMENT, webhookTabs } from './parts.ts';

/** What the page of the webhook settings shows. */
export interface WebhooksContent {
  environment: Environment;
  endpoint: Endpoint;
  figures: EndpointFigures;
  /** The attempts since the time of the figures. */
  hours: readonly AttemptsOfHour[];
  /** What has just been done. */
  done?: string | undefined;
  /** A test event that was just sent. */
  tested?: TestEventResult & { event: TestEventType };
}

const DONE = {
  url: 'The URL is saved. The next webhook goes there; the secret is unchanged.',
  unresolved: {
    tone: 'wait',
    text: 'The URL is saved, but its host name cannot be resolved now. Webhooks fail until it can.',
  },
  removed: { tone: 'wait', text: 'The URL is removed. No webhooks are sent.' },
} as const;

/** The page of the webhook settings. */
export function webhooksView(content: WebhooksContent): View {
  const { environment, endpoint, done, tested } = content;
  return {
    title: 'Webhook endpoint',
    content: [
      webhookTabs(environment, '/webhooks'),
      doneNotice(DONE, done),
      tested && testResult(tested),
      urlSection(content),
      endpoint.url !== null && figuresSection(content),
      endpoint.url !== null && testSection(environment),
    ],
  };
}

function urlSection({ environment, endpoint }: WebhooksContent) {
  const { url, hasSecret, updatedAt } = endpoint;
  const hint =
    environment === 'production'
      ? 'Must be https. Local and private addresses are refused.'
      : 'https or http. Local and private addresses are refused.';
  return setting(
    'endpoint',
    `URL ${IN_ENVIRONMENT[environment]}`,
    [
      url === null
        ? 'No webhooks are sent, because there is no URL yet.'
        : 'Every event of your orders is sent here as a signed POST request.',
      environment === 'production' &&
        ' This is production: with a wrong URL, your shop does not learn of real payments.',
    ],
    form(
      pathOf({ environment }, '/webhooks'),
      {},
      textField({
        name: 'url',
        label: 'Webhook URL',
        type: 'url',
        hint,
        value: url ?? '',
        required: true,
        maxLength: 2048,
      }),
      submit(url === null ? 'Save the URL' : 'Change the URL'),
    ),
    hasSecret &&
      facts({
        Secret: 'Set. It was shown once, and is stored encrypted.',
        Changed: updatedAt && moment(updatedAt),
      }),
    hasSecret &&
      h(
        'p',
        { class: 'actions' },
        link(pathOf({ environment }, '/webhooks/rotate-secret'), 'Replace the secret', {
          class: 'button second',
        }),
        url !== null &&
          link(pathOf({ environment }, '/webhooks/remove'), 'Remove the URL', {
            class: 'button danger',
          }),
      ),
  );
}

const PERCENT = new Intl.NumberFormat('en-IN', { style: 'percent', maximumFractionDigits: 1 });
function figuresSection({ environment, figures: known, hours }: WebhooksContent) {
  const { since, attempts, delivered, p95Ms, failingSince } = known;
  // A rate of 99.96 % is not 100 %.
  const rate = attempts === 0 ? 0 : Math.floor((delivered / attempts) * 1000) / 1000;
  return setting(
    'figures',
    'How your server answers',
    attempts > 0 && ['Since ', moment(since)],
    failingSince &&
      notice('bad', [
        'Failing since ',
        moment(failingSince),
        ': no attempt has succeeded since then.',
      ]),
    attempts === 0
      ? h('p', null, 'No webhook was sent in the last 24 hours.')
      : figures({
          Attempts: numberText(attempts),
          Accepted: PERCENT.format(rate),
          '95 of 100 answered within': p95Ms === null ? '' : `${numberText(p95Ms)} ms`,
        }),
    attempts > 0 && attemptsPlot(hours),
    h('p', null, link(pathOf({ environment }, '/deliveries'), 'All webhooks')),
  );
}

function testSection(environment: Environment) {
  const types = testEventTypesOf(environment);
  const isProduction = environment === 'production';
  return setting(
    'test',
    'Send a test event',
    isProduction
      ? 'In production, only the event TEST can be sent: your server would act on any other. It is signed like every webhook, and its order does not exist.'
      : 'The event looks as it does in production and is signed like every webhook. Its order does not exist.',
    form(
      pathOf({ environment }, '/webhooks/test'),
      {},
      isProduction
        ? hidden('event', 'TEST')
        : choice({
            name: 'event',
            label: 'Event',
            required: true,
            choices: Object.fromEntries(types.map((type) => [type, type])),
          }),
      submit(isProduction ? 'Send TEST to the production URL' : 'Send the event', 'second'),
    ),
  );
}

function testResult({
  event,
  delivered,
  statusCode,
  durationMs,
  error,
  eventId,
}: NonNullable<WebhooksContent['tested']>) {
  return section(
    'tested',
    'The result of the test',
    delivered
      ? notice('good', `Your server has accepted ${event}.`, 'status')
      : notice('bad', `Your server has not accepted ${event}: ${error ?? ''}.`, 'alert'),
    facts({
      Status: statusCode === null ? 'No answer' : String(statusCode),
      Duration: `${numberText(durationMs)} ms`,
      Event: h('code', null, eventId),
    }),
  );
}

const HOURS = 24;

/** The attempts of the last 24 hours as stacked bars, with the same figures as a table. */
function attemptsPlot(some: readonly AttemptsOfHour[]) {
  const hours = Array.from({ length: HOURS }, (_, index) => {
    const hoursAgo = HOURS - 1 - index;
    const known = some.find((hour) => hour.hoursAgo === hoursAgo);
    return known ?? { hoursAgo, accepted: 0, failed: 0 };
  });
  const sumOf = (result: 'accepted' | 'failed') =>
    numberText(hours.reduce((sum, hour) => sum + hour[result], 0));
  return stackedPlot({
    id: 'attempts-plot',
    title: 'Attempts by hour and result',
    description: `${sumOf('accepted')} attempts were accepted and ${sumOf('failed')} failed in 24 hours.`,
    titles: { accepted: 'Accepted', failed: 'Failed' },
    rows: hours,
    spanOf: ({ hoursAgo }) => String(hoursAgo),
    spanText: (span) => (span === '0' ? 'now' : `${span} h ago`),
    heightPx: 180,
    tickText: numberText,
    readingText: ({ hoursAgo, accepted, failed }) =>
      `${hourText(hoursAgo)}: ${numberText(accepted)} accepted, ${numberText(failed)} failed`,
    table: {
      caption: 'Attempts by hour and result, the latest hour first',
      empty: 'There were no attempts.',
      first: { Hour: ({ hoursAgo }) => hourText(hoursAgo) },
    },
  });
}

const hourText = (hoursAgo: number) =>
  hoursAgo === 0 ? 'The last hour' : `${hoursAgo} to ${hoursAgo + 1} hours ago`;
