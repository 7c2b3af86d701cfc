import { h } from 'preact';
import type { OperatorRole } from '../../accounts/public.ts';
import { mayDo } from '../../accounts/public.ts';
import type { WithMerchantName } from '../../merchants/public.ts';
import type { ListedMerchant } from '../../onboarding/public.ts';
import type { OrderRow, OverdueOrder } from '../../orders/public.ts';
import type { StuckCall, StuckKind, StuckMoney } from '../../payments/public.ts';
import type { FailingEndpoint } from '../../webhooks/public.ts';
import { submit } from '../view/fields.ts';
import { capitalised, money, orderStatus } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortId, shortMoment, shortText } from '../view/texts.ts';
import { form } from '../view/url.ts';
import type { ActionName } from './action-declarations.ts';
import { ORDER_ACTIONS } from './action-declarations.ts';
import { actionLink, actionPath } from './order-actions.ts';
import { merchantIn, merchantLink, orderLink } from './parts.ts';

const STUCK_TEXTS = {
  closing: 'Closing of the payment session',
  releasing: 'Release to the merchant',
  refunding: 'Refund of the buyer',
  refunding_surplus: 'Refund of a payment that the order could not take',
  refunding_again: 'Refund of the buyer, again after it failed',
  holding: 'Hold for the merchant',
} as const satisfies Record<StuckKind, string>;

/** Movements of money that take longer than they should, with the actions that the role allows. */
export function stuckTable(
  rows: readonly WithMerchantName<StuckMoney & { call: StuckCall }>[],
  role: OperatorRole,
) {
  return dataTable({
    caption: 'Money that takes longer than it should',
    rows,
    empty: 'No money is stuck.',
    columns: {
      Order: ({ orderNumber }) => orderLink(orderNumber),
      What: ({ kind, hasBegun }) =>
        hasBegun ? STUCK_TEXTS[kind] : `${STUCK_TEXTS[kind]} (not begun)`,
      Amount: { isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
      Since: ({ since }) => shortMoment(since),
      'At the gateway': callText,
      Merchant: { isLine: true, cell: merchantIn },
      Actions: (one) => stuckActions(one, role),
    },
  });
}

const SETTLED: readonly StuckKind[] = [
  'releasing',
  'refunding',
  'refunding_surplus',
  'refunding_again',
];

function stuckActions(
  { orderNumber, kind, hasBegun, call }: StuckMoney & { call: StuckCall },
  role: OperatorRole,
) {
  const fits: [ActionName, boolean][] = [
    ['retry', call.state === 'waiting' || call.state === 'paused'],
    ['recover', call.state === 'no_workflow'],
    ['settle', hasBegun && SETTLED.includes(kind)],
  ];
  return fits
    .filter(([name, isShown]) => isShown && mayDo(role, ORDER_ACTIONS[name].permission))
    .map(([name]) => h('p', { key: name }, actionLink(orderNumber, name)));
}

function callText({ call, kind, refusedAt }: StuckMoney & { call: StuckCall }) {
  if (kind === 'holding') {
    return refusedAt
      ? ['Refused ', shortMoment(refusedAt), '; tried again an hour later']
      : 'Tried again every minute';
  }
  switch (call.state) {
    case 'unknown':
      return 'Unknown: Temporal has not answered';
    case 'no_workflow':
      return 'No workflow runs: recover the order';
    case 'none':
      return 'No call is waiting';
    case 'running':
      return [`Attempt ${call.attempt} is running`, ...errorText(call.lastError)];
    case 'due':
      return [`Attempt ${call.attempt} is due: is a worker running?`, ...errorText(call.lastError)];
    case 'waiting':
    case 'paused':
      return [
        `Attempt ${call.attempt}, `,
        call.nextTryAt ? ['next try ', shortMoment(call.nextTryAt)] : 'paused in Temporal',
        ...errorText(call.lastError),
      ];
  }
}

function errorText(lastError: string | null) {
  return lastError === null ? [] : [h('p', { class: 'hint', dir: 'auto' }, lastError)];
}

const WAITS = {
  creation: 'Its workflow has not begun',
  command: 'Its workflow may lack the step of a command',
  dispute: 'Its workflow has not recorded a dispute',
  delivery: 'Its workflow has not begun to send a webhook',
  release: 'Its workflow has not tried the release again',
} as const satisfies Record<OverdueOrder['cause'], string>;

/** Orders that something has waited for since two minutes ago, with a button that wakes each. */
export function overdueTable(rows: readonly WithMerchantName<OverdueOrder>[], role: OperatorRole) {
  const { permission, title } = ORDER_ACTIONS.recover;
  return dataTable({
    caption: 'Orders that wait for their workflow',
    rows,
    empty: 'No order waits for its workflow.',
    columns: {
      Order: ({ orderNumber }) => orderLink(orderNumber),
      Problem: ({ cause }) => WAITS[cause],
      Since: ({ since }) => shortMoment(since),
      Status: ({ status }) => orderStatus(status),
      Merchant: { isLine: true, cell: merchantIn },
      Action: ({ orderNumber }) =>
        mayDo(role, permission) &&
        form(
          actionPath(orderNumber, 'recover'),
          { 'aria-label': `Recover ${orderNumber}` },
          submit(title, 'small'),
        ),
    },
  });
}

/** Orders whose money is held and that were disputed several times. */
export function disputedOftenTable(rows: readonly WithMerchantName<OrderRow>[]) {
  return dataTable({
    caption: 'Orders that were disputed again and again',
    isCompact: true,
    rows,
    empty: 'No order was disputed three times.',
    columns: {
      Order: ({ orderNumber }) =>
        shortId('order number', orderNumber, `/operator/disputes/${orderNumber}`),
      Disputes: { isNumber: true, cell: ({ disputeCount }) => disputeCount },
      Status: ({ status }) => orderStatus(status),
      Amount: { isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
      Latest: ({ disputeRaisedAt: at }) => at && shortMoment(at),
      Merchant: { isLine: true, cell: merchantIn },
    },
  });
}

/** Endpoints whose latest attempt has failed. */
export function failingTable(rows: readonly FailingEndpoint[]) {
  return dataTable({
    caption: 'Endpoints whose latest webhook has failed',
    isCompact: true,
    rows,
    empty: 'No endpoint is failing.',
    columns: {
      Merchant: { isLine: true, cell: merchantIn },
      Endpoint: ({ host }) => h('code', null, shortText(host)),
      'Failing since': ({ failingSince }) => shortMoment(failingSince),
      'Last error': {
        isLine: true,
        cell: ({ lastError, lastFailedAt }) => [
          h('span', { dir: 'auto' }, capitalised(lastError)),
          h('span', { class: 'hint' }, ' · ', shortMoment(lastFailedAt)),
        ],
      },
    },
  });
}

/** The merchant that has waited longest for a decision first. */
export function reviewTable(rows: readonly ListedMerchant[]) {
  return dataTable({
    caption: 'Merchants waiting for a review',
    isCompact: true,
    rows,
    empty: 'No merchant waits for a review.',
    columns: {
      Merchant: ({ merchantId, name }) => merchantLink(merchantId, name),
      'Legal name': ({ legalName }) => h('span', { dir: 'auto' }, legalName ?? '–'),
      Submitted: ({ submittedAt }) => submittedAt && shortMoment(submittedAt),
    },
  });
}
