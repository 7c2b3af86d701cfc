import { h } from 'preact';
import type { Environment } from '../../domain/index.ts';
import type { DeliveryOwner, LastAttempts } from '../../webhooks/public.ts';
import { numberText, timeText } from '../../pages/format.ts';
import { endpointFailingSince, lastAttempts } from '../../webhooks/public.ts';
import { moment, notice } from '../view/parts.ts';
import { link } from '../view/url.ts';
import type { SettingsDeps } from './deps.ts';
import { pathOf } from './deps.ts';

const titleOf = ({ count }: LastAttempts) =>
  `${numberText(count)} ${count === 1 ? 'webhook has' : 'webhooks have'} one attempt left`;

const listPath = (environment: Environment) => pathOf(environment, '/deliveries?state=PENDING');

/** The notice above the list of webhooks of which some have one attempt left; null without any. */
export async function webhookBanner({ sql }: Pick<SettingsDeps, 'sql'>, owner: DeliveryOwner) {
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

/** The same for the list of what needs the merchant's attention, and an endpoint that fails. */
export async function webhookAttention(
  { sql }: Pick<SettingsDeps, 'sql'>,
  owner: DeliveryOwner,
): Promise<{ text: string; to: string; until: Date | null; isFault?: boolean }[]> {
  const { environment } = owner;
  const [last, failingSince] = await Promise.all([
    lastAttempts(sql, owner),
    endpointFailingSince(sql, owner),
  ]);
  const failing = failingSince && {
    text: `Your server has accepted no webhook since ${timeText(failingSince)}`,
    to: pathOf(environment, '/webhooks'),
    until: null,
    isFault: true,
  };
  const left = last && { text: titleOf(last), to: listPath(environment), until: last.firstAt };
  return [left, failing].filter((item) => item != null);
}
