import { z } from 'zod';
import { DomainError } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import { findAttempt, findMerchantDelivery, retryForMerchant } from '../../webhooks/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import type { MerchantViewer } from '../viewer.ts';
import type { DeliveryContent } from './delivery-view.ts';
import { deliveryView } from './delivery-view.ts';
import type { SettingsDeps } from './deps.ts';
import { pathOf } from './deps.ts';
import { ownerOf } from '../viewer.ts';

/** The page shows the result of a resend if it comes within this time. */
const WAIT_MS = 2500;

const params = z.object({ id: z.string() });
const attemptId = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER);
const query = z.object({
  attempt: attemptId.optional(),
  before: attemptId.optional(),
  done: z.string().optional(),
});

/** The page of one delivery with its attempts, and the form that sends it again. */
export function deliveryPages(context: PageContext, deps: SettingsDeps): Route[] {
  return [...showDelivery(context, deps), ...resendDelivery(context, deps)];
}

function showDelivery(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'GET',
    path: '/deliveries/{id}',
    params,
    query,
  }).handledBy(async ({ viewer, params: { id }, query: chosen }) => ({
    view: deliveryView(await readContent(deps, viewer, id, chosen)),
  }));
}

function resendDelivery(context: PageContext, deps: SettingsDeps): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'POST',
    path: '/deliveries/{id}/resend',
    params,
  }).handledBy(async ({ viewer, params: { id }, actor }) => {
    const { deliveryId } = await findMerchantDelivery(deps.sql, ownerOf(viewer), id);
    try {
      const { outcome } = await retryForMerchant({ ...deps, actor }, viewer.merchantId, {
        deliveryId,
        waitMs: WAIT_MS,
      });
      const path = pathOf(viewer.environment, `/deliveries/${deliveryId}`);
      return { seeOther: `${path}?done=${outcome}` };
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'INVALID_STATE') throw error;
      const content = await readContent(deps, viewer, id, {});
      return { status: 400, view: deliveryView({ ...content, refusal: error.message }) };
    }
  });
}

async function readContent(
  { sql }: SettingsDeps,
  viewer: MerchantViewer,
  deliveryId: string,
  { attempt, before, done }: z.output<typeof query>,
): Promise<DeliveryContent> {
  const delivery = await findMerchantDelivery(sql, ownerOf(viewer), deliveryId, before);
  const chosen = attempt ?? delivery.attempts[0]?.attemptId;
  const shown = chosen === undefined ? undefined : await findAttempt(sql, delivery, chosen);
  return { environment: viewer.environment, delivery, shown, before, done };
}
