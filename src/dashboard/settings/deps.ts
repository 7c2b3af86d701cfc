import type { Sql } from '../../db/client.ts';
import type { Actor } from '../../db/actor.ts';
import type { Alongside } from '../../db/alongside.ts';
import type { Environment } from '../../domain/index.ts';
import type { MerchantAct, NoticeDeps } from '../../merchants/public.ts';
import { withNotice } from '../../merchants/public.ts';
import type { SecretBox } from '../../secret-box.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import type { CheckUrl, WebhookSender } from '../../webhooks/public.ts';
import type { MerchantViewer } from '../viewer.ts';

/** What the pages of keys, webhook settings and deliveries hand to the features. */
export interface SettingsDeps {
  sql: Sql;
  /** The key of the HMACs of API secrets. */
  pepper: string;
  /** Opens and seals webhook secrets. */
  secretBox: SecretBox;
  checkUrl: CheckUrl;
  /** Sends test events. */
  sender: WebhookSender;
  apiVersion: string;
  retries: DeliveryRetries;
  /** Of mails to the merchant about what its users do. */
  notices: NoticeDeps;
}

/** Whether a page is about production: a change there asks again for password and second factor. */
export const isProduction = ({ viewer }: { viewer: MerchantViewer }): boolean =>
  viewer.environment === 'production';

/** Carries out a user's act; in production the merchant gets a mail about it. */
export function noticed<Result>(
  { notices }: SettingsDeps,
  { viewer, actor }: { viewer: MerchantViewer; actor: Actor },
  act: MerchantAct,
  carryOut: (alongside?: Alongside) => Promise<Result>,
): Promise<Result> {
  if (!isProduction({ viewer })) return carryOut();
  const { merchantId, user } = viewer;
  return withNotice(notices, { merchantId, act, email: user.email, actor }, carryOut);
}

/** The path of a page of this folder in the viewer's environment. */
export function pathOf(environment: Environment, below: string): string {
  return `/dashboard/${environment}${below}`;
}

/** Where a page's subject is, in a sentence. */
export const IN_ENVIRONMENT = {
  sandbox: 'in the sandbox',
  production: 'in production',
} as const satisfies Record<Environment, string>;
