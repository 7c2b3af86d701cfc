import { h } from 'preact';
import type { Sql } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import type { NoticeDeps } from '../../merchants/public.ts';
import type { OrderOwner } from '../../orders/public.ts';
import { numberText, timeText } from '../../pages/format.ts';
import type { SecretBox } from '../../secret-box.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import type { CheckUrl, FailingDeliveries, WebhookSender } from '../../webhooks/public.ts';
import { endpointFailingSince, lastAttempts } from '../../webhooks/public.ts';
import { pagesOf } from '../page.ts';
import { tabs } from '../view/pages.ts';
import { capitalised, moment, notice } from '../view/parts.ts';
import { link } from '../view/url.ts';
import { pathOf } from '../viewer.ts';

export const settingsPage = pagesOf<SettingsDeps, 'merchant'>('merchant');

export interface SettingsDeps {
  sql: Sql;
  /** The key of the HMACs of API secrets. */
  pepper: string;
  /** Opens and seals webhook secrets. */
  secretBox: SecretBox;
  checkUrl: CheckUrl;
  sender: WebhookSender;
  apiVersion: string;
  retries: DeliveryRetries;
  /** For mails to the merchant about what its users do. */
  notices: NoticeDeps;
}

export interface AttentionItem {
  text: string;
  to: string;
  /** The deadline; items without one come last. */
  until: Date | null;
  /** Whether something does not work. */
  isFault?: boolean;
}

/** The environment of a page's subject, in a sentence. */
export const IN_ENVIRONMENT = {
  sandbox: 'in the sandbox',
  production: 'in production',
} as const satisfies Record<Environment, string>;

/** The result of an attempt: "200", or why it failed: "Answered 503". */
export function resultText({
  statusCode,
  error,
}: {
  statusCode: number | null;
  error: string | null;
}): string {
  return capitalised(error ?? String(statusCode ?? ''));
}

export function webhookTabs(environment: Environment, current: '/deliveries' | '/webhooks') {
  const pathIn = (below: string) => pathOf({ environment }, below);
  const pages = { [pathIn('/deliveries')]: 'Sent webhooks', [pathIn('/webhooks')]: 'Endpoint' };
  return tabs('Webhooks', pages, pathIn(current));
}

/** What browsers send of a field `datetime-local`; people in India mean their own time. */
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/;

/** A date and time of India, such as `2026-11-22T18:30`. @returns undefined for any other text */
export function parseIndianTime(text: string | undefined): Date | undefined {
  if (text === undefined || !LOCAL_TIME.test(text)) return undefined;
  const time = new Date(`${text}+05:30`);
  // Times before 1970 have no delivery, and no ULID.
  return time.getTime() >= 0 ? time : undefined;
}

const titleOf = ({ count }: FailingDeliveries) =>
  `${numberText(count)} ${count === 1 ? 'webhook has' : 'webhooks have'} one attempt left`;

const listPath = (environment: Environment) => pathOf({ environment }, '/deliveries?state=PENDING');

/** The notice above the list of webhooks if some have one attempt left; null without any. */
export async function webhookBanner(sql: Sql, owner: OrderOwner) {
  const last = await lastAttempts(sql, owner);
  if (!last) return null;
  return notice('bad', [
    h('strong', null, titleOf(last)),
    ', the first at ',
    moment(last.firstAt),
    '. After it they are not sent again by themselves. ',
    link(listPath(owner.environment), 'See them'),
  ]);
}

/** Deliveries with one attempt left, and an endpoint that fails, as items for the merchant's attention. */
export async function webhookAttention(sql: Sql, owner: OrderOwner): Promise<AttentionItem[]> {
  const { environment } = owner;
  const [last, failingSince] = await Promise.all([
    lastAttempts(sql, owner),
    endpointFailingSince(sql, owner),
  ]);
  const failing = failingSince && {
    text: `Your server has accepted no webhook since ${timeText(failingSince)}`,
    to: pathOf({ environment }, '/webhooks'),
    until: null,
    isFault: true,
  };
  const left = last && { text: titleOf(last), to: listPath(environment), until: last.firstAt };
  return [left, failing].filter((item) => item != null);
}
