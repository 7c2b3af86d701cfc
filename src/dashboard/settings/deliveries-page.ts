import { z } from 'zod';
import { DomainError, EVENT_TYPES } from '../../domain/index.ts';
import {
  DELIVERY_STATES,
  latestResend,
  pageDeliveries,
  resendSelected,
  resendSince,
} from '../../webhooks/public.ts';
import { pageFields, partOf } from '../view/pages.ts';
import { pathWith } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import type { DeliveriesContent } from './deliveries-view.ts';
import { deliveriesView } from './deliveries-view.ts';
import type { SettingsDeps } from './parts.ts';
import { parseIndianTime, settingsPage } from './parts.ts';

const NO_TIME = 'must be a date and a time, such as 2026-11-22T18:30';
const text = z.string().optional();

const filterQuery = z.object({
  state: text,
  event: text,
  order: text,
  since: text,
  until: text,
  ...pageFields,
  done: text,
  count: text,
});
type FilterQuery = z.output<typeof filterQuery>;

const RESEND = { formPath: '/deliveries', refusals: ['BAD_REQUEST', 'INVALID_STATE'] } as const;

export const deliveryListPages = [
  settingsPage('GET /deliveries', { query: filterQuery }).handledBy(
    async ({ viewer, query }, deps) => {
      const content = await readContent(deps, viewer, query);
      const isValid = Object.keys(content.violations).length === 0;
      return { status: isValid ? 200 : 400, view: deliveriesView(content) };
    },
  ),
  // While a resend runs, the page reloads at each step of it.
  settingsPage('GET /deliveries/version').handledBy(async ({ viewer }, { sql }) => {
    const resend = await latestResend(sql, ownerOf(viewer));
    return { json: { version: versionText(resend?.left) } };
  }),
  settingsPage('POST /deliveries/resend', {
    ...RESEND,
    body: z.object({ 'deliveries[]': z.array(z.string()).default([]) }),
  }).handledBy(async ({ viewer, body, actor, log }, deps) => {
    const chosen = body['deliveries[]'];
    return sentAgain(
      viewer,
      await resendSelected({ ...deps, actor, log }, ownerOf(viewer), chosen),
    );
  }),
  settingsPage('POST /deliveries/resend-since', {
    ...RESEND,
    body: z.object({ 'resend-since': z.string().default('') }),
  }).handledBy(async ({ viewer, body, actor, log }, deps) => {
    const since = parseIndianTime(body['resend-since']);
    if (since === undefined) throw new DomainError('BAD_REQUEST', `The time ${NO_TIME}`);
    return sentAgain(viewer, await resendSince({ ...deps, actor, log }, ownerOf(viewer), since));
  }),
];

const versionText = (left: number | undefined) => String(left ?? 0);

const sentAgain = (viewer: MerchantViewer, count: number) => ({
  seeOther: pathWith(pathOf(viewer, '/deliveries'), { done: 'resent', count: String(count) }),
});

async function readContent(
  { sql }: SettingsDeps,
  viewer: MerchantViewer,
  query: FilterQuery,
): Promise<DeliveriesContent> {
  const owner = ownerOf(viewer);
  const { page, size, after, done, count, ...values } = query;
  const chosen = { page, size, after };
  const since = parseIndianTime(values.since);
  const until = parseIndianTime(values.until);
  const violations = {
    ...(values.since && !since && { since: NO_TIME }),
    ...(values.until && !until && { until: NO_TIME }),
  };
  const filter = {
    since,
    until,
    state: DELIVERY_STATES.find((state) => state === values.state),
    event: EVENT_TYPES.find((event) => event === values.event),
    orderNumber: values.order?.trim() || undefined,
  };
  const [list, resend] = await Promise.all([
    pageDeliveries(sql, owner, filter, partOf(chosen)),
    latestResend(sql, owner),
  ]);
  const { environment } = viewer;
  const version = versionText(resend?.left);
  const resent = done === 'resent' ? Number(count) || 0 : undefined;
  return { environment, values, violations, chosen, list, resend, version, resent };
}
