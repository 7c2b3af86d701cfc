import { z } from 'zod';
import { cursorInQuery } from '../../http/input/cursor.ts';
import type { OrderMailRecord } from '../../mail/public.ts';
import { listOrderMails } from '../../mail/public.ts';
import { withMerchantNames, writeBuyerView } from '../../merchants/public.ts';
import { canMerchantRefund, findOrderAnywhere, timelinePlaceSchema } from '../../orders/public.ts';
import { readOrderView, readOrderWorkflows } from '../../payments/public.ts';
import { listOpenAbout } from '../../proposals/public.ts';
import { deliveryNotFound, listDeliveries, retryDelivery } from '../../webhooks/public.ts';
import { orderHead } from '../view/order.ts';
import { section, tag } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortMoment } from '../view/texts.ts';
import { actionLinks } from './order-actions.ts';
import { orderContent, ORDERS } from './order-view.ts';
import { actionNotice, operatorPage, orderLink } from './parts.ts';
import { openProposals } from './proposal-tables.ts';

/** How long the page waits for the attempt, which continues after that. */
const RETRY_WAIT_MS = 3000;
const RETRY_TIMEOUT_MS = 10_000;

/** How long the page waits for Temporal. */
const TEMPORAL_TIMEOUT_MS = 2000;

export const orderPage = operatorPage('GET /orders/{order}', {
  params: z.object({ order: z.string() }),
  query: z.object({
    done: z.string().optional(),
    before: cursorInQuery(timelinePlaceSchema).optional().catch(undefined),
  }),
}).handledBy(async ({ params, query, viewer: { role }, actor }, deps) => {
  const { sql } = deps;
  const orderNumber = params.order;
  const order = await findOrderAnywhere(sql, orderNumber);
  await writeBuyerView(sql, actor, order);
  const [view, workflows, proposals, canRefund, mails] = await Promise.all([
    readOrderView(sql, order, query.before),
    readOrderWorkflows(deps, orderNumber, TEMPORAL_TIMEOUT_MS),
    listOpenAbout(sql, orderNumber),
    canMerchantRefund(sql, order),
    listOrderMails(sql, orderNumber),
  ]);
  const [named = { ...view, merchantName: null }] = await withMerchantNames(sql, [view]);
  const state = { order, view, workflows, canMerchantRefund: canRefund };
  const content = [
    orderHead(ORDERS, { kind: 'Order', name: orderNumber, one: orderLink(orderNumber) }, view),
    actionNotice(query.done),
    openProposals(proposals),
    ...orderContent(named, workflows, {
      actions: actionLinks(state, role),
      mails: mailsPart(mails),
      role,
    }),
  ];
  return { view: { title: `Order ${orderNumber}`, content, hasOwnHeading: true } };
});

export const deliveryRetry = operatorPage('POST /orders/{order}/deliveries/{delivery}/retry', {
  permission: 'delivery.retry',
  params: z.object({ order: z.string(), delivery: z.string() }),
  responseTimeoutMs: RETRY_TIMEOUT_MS,
}).handledBy(async ({ params: { order, delivery }, actor }, deps) => {
  const { sql, retries } = deps;
  const filter = { orderNumber: order, deliveryId: delivery };
  if ((await listDeliveries(sql, filter, 1)).length === 0) throw deliveryNotFound(delivery);
  const { outcome } = await retryDelivery({ sql, retries, actor }, delivery, RETRY_WAIT_MS);
  return { seeOther: `/operator/orders/${encodeURIComponent(order)}?done=${outcome}` };
});

/** The mails about an order, without their content. */
function mailsPart(mails: readonly OrderMailRecord[]) {
  return section(
    'mails',
    'Mails',
    dataTable({
      caption: 'Mails to buyer and merchant',
      rows: mails,
      empty: 'None. Records are kept for some weeks; orders of the sandbox send no mails.',
      columns: {
        Mail: ({ kind }) => wordsOf(kind),
        Written: ({ createdAt }) => shortMoment(createdAt),
        Status: ({ sentAt, failure }) => {
          if (sentAt !== null) return [tag('good', 'Sent'), ' ', shortMoment(sentAt)];
          return failure === null ? tag('wait', 'Waiting') : [tag('bad', 'Failed'), ` ${failure}`];
        },
      },
    }),
  );
}

/** `buyer_dispute_raised` as "To the buyer: dispute raised". */
function wordsOf(kind: string): string {
  const [reader = '', ...about] = kind.split('_');
  return `To the ${reader}: ${about.join(' ')}`;
}
