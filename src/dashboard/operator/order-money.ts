import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { OrderView } from '../../payments/public.ts';
import { facts, money, section, wordsOf } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortId, shortMoment } from '../view/texts.ts';

/** The money of an order: its balances, captures and reversals, the lines of the ledger, the payment sessions. */
export function moneyPart(order: OrderView) {
  const { settledOutside: settled, money: balances } = order;
  return section(
    'money',
    'Money',
    facts({
      Held: money(balances.heldPaise),
      Released: money(balances.releasedPaise),
      Refunded: money(balances.refundedPaise),
      'Surplus to refund': balances.surplusPaise > 0 && money(balances.surplusPaise),
      'Settled outside': settled && [
        [settled.outcome, settled.reference].filter(Boolean).join(', '),
        ` by ${settled.actor}${settled.checkedAt ? '' : ', not checked at the gateway'}: `,
        h('span', { dir: 'auto' }, settled.reason),
      ],
    }),
    h('h3', null, 'Payments'),
    dataTable({
      caption: 'Captures',
      rows: order.payments,
      empty: 'Nothing was captured.',
      columns: {
        Payment: ({ gatewayPaymentId }) => shortId('payment id', gatewayPaymentId),
        UTR: ({ utr }) => utr,
        Amount: { isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
        Captured: ({ capturedAt }) => shortMoment(capturedAt),
        'At the gateway': gatewayState,
      },
    }),
    order.reversals.length > 0 &&
      dataTable({
        caption: 'Refunds and chargebacks made at the gateway',
        rows: order.reversals,
        empty: 'None.',
        columns: {
          Reversal: ({ reversalId }) => shortId('reversal id', reversalId),
          Kind: ({ kind }) => wordsOf(kind),
          Amount: { isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
          Status: ({ state }) => wordsOf(state),
          Recorded: ({ recordedAt }) => shortMoment(recordedAt),
        },
      }),
    h('h3', null, 'Lines of the ledger'),
    linesTable(order),
    h('h3', null, 'Payment sessions'),
    sessionsTable(order),
  );
}

function gatewayState(payment: OrderView['payments'][number]): ComponentChildren {
  const { surplusReason, refundedAt, heldAt, holdRefusedAt, isWhole, currency } = payment;
  if (!isWhole) {
    return [`Not usable for the order: ${currency}, `, money(payment.refundedPaise), ' refunded'];
  }
  if (surplusReason !== null) {
    return [
      `${wordsOf(surplusReason)}, `,
      refundedAt ? ['refunded ', shortMoment(refundedAt)] : 'not refunded yet',
    ];
  }
  if (heldAt) return ['Held ', shortMoment(heldAt)];
  return holdRefusedAt ? ['The hold was refused ', shortMoment(holdRefusedAt)] : 'Not held yet';
}

function linesTable({ lines }: OrderView) {
  return dataTable({
    caption: 'Lines of the ledger',
    rows: lines,
    empty: 'The ledger has no line of this order.',
    columns: {
      At: ({ at }) => shortMoment(at),
      Operation: ({ operation }) => wordsOf(operation),
      From: ({ from }) => h('code', null, from),
      To: ({ to }) => h('code', null, to),
      Amount: { isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
    },
  });
}

function sessionsTable({ sessions }: OrderView) {
  return dataTable({
    caption: 'Payment sessions',
    rows: sessions,
    empty: 'No payment session was opened.',
    columns: {
      Session: ({ sessionId }) => shortId('session id', sessionId),
      'At the gateway': ({ gatewaySessionId }) =>
        gatewaySessionId && shortId('id at the gateway', gatewaySessionId),
      Status: ({ state }) => wordsOf(state),
      Until: ({ expiresAt }) => shortMoment(expiresAt),
    },
  });
}
