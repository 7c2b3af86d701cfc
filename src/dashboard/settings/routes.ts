import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import { deliveryListPages } from './deliveries-page.ts';
import { deliveryPages } from './delivery-page.ts';
import type { SettingsDeps } from './deps.ts';
import { keyPages } from './keys-page.ts';
import { webhookPages } from './webhooks-page.ts';

/** A merchant's keys, webhook settings and deliveries. */
export function settingsPages(context: PageContext, deps: SettingsDeps): Route[] {
  return [
    ...keyPages(context, deps),
    ...webhookPages(context, deps),
    ...deliveryListPages(context, deps),
    ...deliveryPages(context, deps),
  ];
}
