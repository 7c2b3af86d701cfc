import type { Sql } from '../db/client.ts';
import { tooManyRequests } from '../http/responses/errors.ts';

const TEN_MINUTES_SECONDS = 600;
const HOUR_SECONDS = 3600;

/**
 * How often a merchant's users and keys can make the service send something, in both environments together. The
 * webhook schedule has its own limits, and operators have none. To resend what an outage has lost, a merchant needs
 * one resend of up to 10,000 webhooks, which counts once.
 */
const LIMITS = {
  /** A test event calls the webhook URL. */
  test_event: { most: 30, seconds: HOUR_SECONDS, what: 'test events' },
  /** One attempt of one webhook, by a page or the API. */
  webhook_retry: {
    most: 300,
    seconds: TEN_MINUTES_SECONDS,
    what: 'webhooks sent again one by one',
  },
  webhook_resend: { most: 20, seconds: HOUR_SECONDS, what: 'times that webhooks are sent again' },
  /** Saving a webhook URL looks up its host. */
  webhook_url: { most: 60, seconds: HOUR_SECONDS, what: 'webhook URLs' },
  /** An act of a user that is mailed to the merchant. */
  noticed_act: { most: 300, seconds: HOUR_SECONDS, what: 'changes that a mail reports' },
} as const;

export type SendKind = keyof typeof LIMITS;

/**
 * Counts something that a merchant makes the service send. Call it before sending.
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
