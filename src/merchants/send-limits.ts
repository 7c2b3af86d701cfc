import type { Sql } from '../db/client.ts';
import { tooManyRequests } from '../http/responses/errors.ts';

const TEN_MINUTES_SECONDS = 600;
const HOUR_SECONDS = 3600;

/**
 * How often a merchant's users and keys can have the service send something, in both environments together. The webhook
 * schedule has limits of its own, and operators have none. A merchant that sends back what an outage has
 * lost does so with one resend of up to 10,000 webhooks, which counts once.
 */
const LIMITS = {
  /** A test event calls the webhook URL for nothing that has happened. */
  test_event: { most: 30, seconds: HOUR_SECONDS, what: 'test events' },
  /** One attempt of one webhook, by a page or the API. */
  webhook_retry: {
    most: 300,
    seconds: TEN_MINUTES_SECONDS,
    what: 'webhooks sent again one by one',
  },
  /** Many webhooks at once. */
  webhook_resend: { most: 20, seconds: HOUR_SECONDS, what: 'times that webhooks are sent again' },
  /** The host of a webhook URL is looked up when it is saved. */
  webhook_url: { most: 60, seconds: HOUR_SECONDS, what: 'webhook URLs' },
  /** An act of a user of which the merchant gets a mail. */
  noticed_act: { most: 300, seconds: HOUR_SECONDS, what: 'changes that a mail reports' },
} as const;

/** What a merchant can have the service send. */
export type SendKind = keyof typeof LIMITS;

/**
 * Counts something that a merchant has the service send, before it is sent.
 *
 * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`, beyond the limit of the kind
 */
export async function admitSend(sql: Sql, merchantId: string, kind: SendKind): Promise<void> {
  const { most, seconds, what } = LIMITS[kind];
  const [row] = await sql<[{ wait: number }]>`
    SELECT admit_send(${merchantId}, ${kind}, ${most}, ${seconds}) AS wait`;
  if (row.wait === 0) return;
  const within = seconds === HOUR_SECONDS ? 'an hour' : `${seconds / 60} minutes`;
  const message = `Too many requests: at most ${most} ${what} in ${within}`;
  throw tooManyRequests(Math.ceil(row.wait), message);
}
