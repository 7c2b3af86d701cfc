import type { Sql } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import type { NoticeDeps } from '../../merchants/public.ts';
import type { SecretBox } from '../../secret-box.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import type { CheckUrl, WebhookSender } from '../../webhooks/public.ts';

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

/** The path of a page of this folder in the viewer's environment. */
export function pathOf(environment: Environment, below: string): string {
  return `/dashboard/${environment}${below}`;
}

/** Where a page's subject is, in a sentence. */
export const IN_ENVIRONMENT = {
  sandbox: 'in the sandbox',
  production: 'in production',
} as const satisfies Record<Environment, string>;
