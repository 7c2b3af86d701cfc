import type { Logger } from 'pino';
import type { Sql } from '../../db/client.ts';
import { WEBHOOK_RETRY_DELAYS_MS } from '../../domain/index.ts';
import type { Letter, Mail } from '../../mail/public.ts';
import { timeText } from '../../pages/format.ts';
import type { MailReader } from '../../merchants/public.ts';
import { joinMailReader, mailReader } from '../../merchants/public.ts';
import type { OrderOwner } from '../../orders/public.ts';

/** An endpoint causes at most one mail in this time. */
const WARNING_INTERVAL = '24 hours';
const MAX_WARNINGS_AT_ONCE = 500;

/** Deliveries of a merchant that have failed, and are tried again. */
export interface FailingDeliveries {
  count: number;
  /** When the first of them is tried next. */
  firstAt: Date;
}

/** Finds the deliveries with at least this many failed attempts, from one small index. */
async function findFailing(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  failedAttempts: number,
): Promise<FailingDeliveries | undefined> {
  const [row] = await sql<[FailingDeliveries | { count: 0; firstAt: null }]>`
    SELECT count(*)::integer AS count, min(next_attempt_at) AS first_at FROM webhook_deliveries
    WHERE merchant_id = ${merchantId} AND environment = ${environment}
      AND state = 'PENDING' AND failed_attempts >= ${failedAttempts}`;
  return row.firstAt === null ? undefined : row;
}

/** Finds the deliveries that become FAILED if their next attempt fails. */
export const lastAttempts = (sql: Sql, owner: OrderOwner) =>
  findFailing(sql, owner, WEBHOOK_RETRY_DELAYS_MS.length);

export interface WarningDeps {
  sql: Sql;
  log: Logger;
  publicBaseUrl: string;
  sendMail(mail: Mail): Promise<void>;
}

interface Warning extends OrderOwner, MailReader {
  warnedAt: Date;
  webhookUrl: string | null;
}

/** A merchant is warned of deliveries with this many failed attempts. */
const WARNED_AFTER = 2;

/** The name of these mails in a user's preferences. */
export const FAILING_ENDPOINT = 'merchant_failing_endpoint';

/**
 * Writes a mail to each merchant with a webhook that has failed twice: one for each endpoint until it has accepted a
 * webhook again, and at most one in 24 hours. The decision is a row, so that after a crash the next run writes the
 * missing mail, and none is written twice.
 *
 * @returns the number of mails
 */
export async function warnOfFailingEndpoints(deps: WarningDeps): Promise<{ mails: number }> {
  const { sql, log } = deps;
  await decideWarnings(sql);
  let mails = 0;
  for (const warning of await openWarnings(sql)) {
    try {
      if (await sendWarning(deps, warning)) mails += 1;
    } catch (err) {
      // The other warnings must not wait for this one. The next run repeats it.
      log.warn({ err, merchantId: warning.merchantId }, 'The mail about webhooks was not written');
    }
  }
  return { mails };
}

async function decideWarnings(sql: Sql): Promise<void> {
  await sql`
    INSERT INTO webhook_warnings AS w (merchant_id, environment)
    SELECT DISTINCT merchant_id, environment FROM webhook_deliveries
    WHERE state = 'PENDING' AND failed_attempts >= ${WARNED_AFTER}
    ON CONFLICT (merchant_id, environment) DO UPDATE
      SET warned_at = excluded.warned_at, mailed_at = NULL
      WHERE w.mailed_at IS NOT NULL
        AND w.warned_at <= excluded.warned_at - ${WARNING_INTERVAL}::interval
        AND EXISTS (SELECT FROM webhook_attempts a
          WHERE a.merchant_id = w.merchant_id AND a.environment = w.environment
            AND a.is_delivered AND a.at > w.warned_at)`;
}

async function openWarnings(sql: Sql): Promise<Warning[]> {
  return sql<Warning[]>`
    SELECT w.merchant_id, w.environment, w.warned_at, ${mailReader(sql)}, e.webhook_url
    FROM webhook_warnings w ${joinMailReader(sql, sql`w`)}
    LEFT JOIN shared.merchant_environments e
      ON e.merchant_id = w.merchant_id AND e.environment = w.environment
    WHERE w.mailed_at IS NULL ORDER BY w.merchant_id LIMIT ${MAX_WARNINGS_AT_ONCE}`;
}

/** @returns false when the webhooks have been accepted in the meantime, or the mails are switched off */
async function sendWarning(
  { sql, publicBaseUrl, sendMail }: WarningDeps,
  warning: Warning,
): Promise<boolean> {
  const { merchantId, environment, warnedAt, merchantEmail: to } = warning;
  const isMuted = warning.mutedMails.includes(FAILING_ENDPOINT);
  const failing = isMuted ? undefined : await findFailing(sql, warning, WARNED_AFTER);
  if (failing) {
    // The same warning has the same id, so a repeat after a crash sends nothing.
    const mailId = `webhooks-${merchantId}-${environment}-${warnedAt.getTime()}`;
    await sendMail({ mailId, to, ...warningText(warning, failing, publicBaseUrl) });
  }
  await sql`
    UPDATE webhook_warnings SET mailed_at = clock_timestamp()
    WHERE merchant_id = ${merchantId} AND environment = ${environment} AND mailed_at IS NULL`;
  return failing !== undefined;
}

/** Names only the host, because the path of the URL may contain a secret of the merchant. */
function warningText(
  { merchantName, environment, webhookUrl }: Warning,
  { count, firstAt }: FailingDeliveries,
  publicBaseUrl: string,
): Letter {
  const page = (label: string, path: string) => ({
    label,
    url: `${publicBaseUrl}/dashboard/${environment}${path}`,
  });
  const webhooks = count === 1 ? '1 webhook' : `${count} webhooks`;
  return {
    subject: `Your webhooks do not arrive (${environment})`,
    paragraphs: [
      `Hello ${merchantName},`,
      `Your server has not accepted ${webhooks} in ${environment}, at the second attempt or a later one. Each is tried five times within 15 hours; one whose fifth attempt fails is not sent again by itself.`,
      {
        facts: [
          ['Server', webhookUrl === null ? 'No webhook URL is set' : new URL(webhookUrl).host],
          ['Webhooks that wait', String(count)],
          ['Next attempt', timeText(firstAt)],
        ],
      },
      'What to do: see why your server does not answer with a 2xx status, and repair it. Then send the webhooks again.',
      page('The webhooks that wait', '/deliveries?state=PENDING'),
      page('The settings of your webhooks', '/webhooks'),
      'You get this mail once until your server has accepted a webhook again, and at most once in 24 hours.',
    ],
  };
}
