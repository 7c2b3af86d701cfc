import { h } from 'preact';
import type { OrderRow, SentencePart } from '../../orders/public.ts';
import { waitingOf } from '../../orders/public.ts';
import { moment, money } from '../view/parts.ts';

/** The sentence of what an order waits for. @param now the database's clock */
export function waitingSentence(
  order: OrderRow,
  circumstances: { now: Date; isSuspended: boolean },
) {
  const { sentence } = waitingOf(order, circumstances);
  return h('p', { class: 'lead' }, ...sentence.map((part) => nodeOf(part, circumstances.now)));
}

function nodeOf(part: SentencePart, now: Date) {
  if (typeof part === 'string') return part;
  return 'at' in part ? moment(part.at, now) : money(part.amountPaise);
}
