import { h } from 'preact';
import type { MerchantCircumstances, SentencePart } from '../../domain/index.ts';
import type { OrderRow } from '../../orders/public.ts';
import { waitingOf } from '../../orders/public.ts';
import { moment, money } from '../view/parts.ts';

/** The sentence of what an order waits for. */
export function waitingSentence(order: OrderRow, circumstances: MerchantCircumstances) {
  const { sentence } = waitingOf(order, circumstances);
  return h('p', { class: 'lead' }, ...sentence.map((part) => nodeOf(part, circumstances.now)));
}

function nodeOf(part: SentencePart, now: Date) {
  if (typeof part === 'string') return part;
  return 'at' in part ? moment(part.at, now) : money(part.amountPaise);
}
