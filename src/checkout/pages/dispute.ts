import { h } from 'preact';
import type { Checkout } from '../queries.ts';
import type { CheckoutState } from '../state.ts';
import { canDispute } from '../state.ts';

/** The text that the buyer submitted and the service did not accept. */
export interface DisputeDraft {
  readonly reason: string;
  /** The violation of the text's rule; absent when it was refused for another reason. */
  readonly violation?: string | undefined;
}

/** The form for raising a dispute, or the texts of the latest dispute. */
export function disputeSection(
  state: CheckoutState,
  checkout: Checkout,
  disputePath: string,
  draft: DisputeDraft | undefined,
) {
  const { order, merchantName } = checkout;
  const decision = order.disputeDecisionReason;
  const decisionSection = decision && quotedSection('decision', decisionTitle(order), decision);
  if (canDispute(checkout)) return [decisionSection, disputeForm(merchantName, disputePath, draft)];
  const isRunning = state === 'disputed' || state === 'refunding';
  return [
    draft && quotedSection('unsent', 'Your text was not sent', draft.reason),
    isRunning &&
      order.disputeReason &&
      quotedSection('buyer-reason', 'What you wrote', order.disputeReason),
    decisionSection,
  ];
}

function decisionTitle({ disputeDecidedFor: winner }: Checkout['order']): string {
  return winner === 'buyer' ? 'Decided for you, because' : 'Decided for the merchant, because';
}

function quotedSection(id: string, title: string, text: string) {
  return h(
    'section',
    { 'aria-labelledby': id },
    h('h2', { id }, title),
    h('blockquote', { dir: 'auto' }, text),
  );
}

/** With a draft the form is shown open, and an invalid text field has the focus. */
function disputeForm(merchantName: string, disputePath: string, draft: DisputeDraft | undefined) {
  const violation = draft?.violation;
  return h(
    'details',
    { open: draft !== undefined },
    h('summary', null, 'Something is wrong with my order'),
    h(
      'form',
      { method: 'post', action: disputePath },
      h('label', { for: 'reason' }, 'What is wrong?'),
      h(
        'p',
        { id: 'hint', class: 'hint' },
        'Say it in 10 to 2000 characters. ',
        h('bdi', null, merchantName),
        ' will read it. While a dispute runs, your money stays held.',
      ),
      violation !== undefined &&
        h('p', { id: 'violation', class: 'violation', role: 'alert' }, `Your reason ${violation}.`),
      h(
        'textarea',
        {
          id: 'reason',
          name: 'reason',
          rows: 5,
          required: true,
          minlength: 10,
          autofocus: violation !== undefined,
          dir: 'auto',
          'aria-describedby': violation === undefined ? 'hint' : 'hint violation',
          'aria-invalid': violation === undefined ? undefined : 'true',
        },
        draft?.reason ?? '',
      ),
      h('button', { class: 'button second' }, 'Raise a dispute'),
    ),
  );
}
