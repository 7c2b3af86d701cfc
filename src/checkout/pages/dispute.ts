import { h } from 'preact';
import type { DisputeRecord } from '../../orders/public.ts';
import type { Checkout } from '../queries.ts';
import { canDispute } from '../state.ts';
import type { Texts } from '../texts/en.ts';

/** A text that the buyer submitted and that was not accepted. */
export interface DisputeDraft {
  readonly reason: string;
  /** True if the text breaks the rule for a reason; false if the order's state refuses a dispute. */
  readonly isInvalid?: boolean;
}

/** The texts and decisions of the order's disputes, the latest first, and the form for another one. */
export function disputeSection(
  checkout: Checkout,
  disputePath: string,
  draft: DisputeDraft | undefined,
  texts: Texts,
) {
  const [latest, ...earlier] = checkout.disputes.toReversed();
  const isOpen = canDispute(checkout);
  return [
    draft && !isOpen && quoted('h2', texts.disputes.unsent, draft.reason),
    latest && disputeTexts(latest, earlier.length === 0, texts),
    earlier.length > 0 &&
      h(
        'details',
        null,
        h('summary', null, texts.disputes.earlier),
        ...earlier.map((dispute) => disputeTexts(dispute, false, texts)),
      ),
    isOpen && disputeForm(checkout.merchantName, disputePath, draft, texts),
  ];
}

/** The texts of buyer, merchant and operator, and how the dispute ended. It names no operator. */
function disputeTexts(dispute: DisputeRecord, isOnlyOne: boolean, { disputes }: Texts) {
  const { number, raisedBy, reason, evidence, resolution, decision, ending } = dispute;
  const id = `dispute-${number}`;
  const endings: Partial<Record<NonNullable<typeof ending>, string>> = disputes.endings;
  return h(
    'section',
    { class: 'dispute', 'aria-labelledby': id },
    h('h2', { id }, isOnlyOne ? disputes.title : disputes.numbered(number)),
    quoted('h3', raisedBy === 'buyer' ? disputes.reason : disputes.reasonOfService, reason),
    evidence !== null && quoted('h3', disputes.evidence, evidence),
    resolution !== null && quoted('h3', disputes.resolution, resolution),
    decision && quoted('h3', disputes.decidedFor[decision.for], decision.reason),
    ending && endings[ending] && h('p', null, endings[ending]),
  );
}

export function quoted(heading: 'h2' | 'h3', title: string, text: string) {
  return h('section', null, h(heading, null, title), h('blockquote', { dir: 'auto' }, text));
}

/** With a draft, the form is open; an invalid text field has the focus. */
function disputeForm(
  merchantName: string,
  disputePath: string,
  draft: DisputeDraft | undefined,
  { disputeForm: texts }: Texts,
) {
  const isInvalid = draft?.isInvalid ?? false;
  return h(
    'details',
    { open: draft !== undefined },
    h('summary', null, texts.summary),
    h(
      'form',
      { method: 'post', action: disputePath },
      h('label', { for: 'reason' }, texts.label),
      h('p', { id: 'hint', class: 'hint' }, texts.hint(h('bdi', null, merchantName))),
      isInvalid && h('p', { id: 'violation', class: 'violation', role: 'alert' }, texts.violation),
      h(
        'textarea',
        {
          id: 'reason',
          name: 'reason',
          rows: 5,
          required: true,
          minlength: 10,
          autofocus: isInvalid,
          dir: 'auto',
          'aria-describedby': isInvalid ? 'hint violation' : 'hint',
          'aria-invalid': isInvalid ? 'true' : undefined,
        },
        draft?.reason ?? '',
      ),
      h('button', { class: 'button second' }, texts.submit),
    ),
  );
}
