import type { Mail } from '../mail/public.ts';
import { timeText } from '../pages/format.ts';
import type { Proposal } from './context.ts';

/** Sent to each operator who may approve a proposal about an order whose deadline is near. */
export function deadlineMail(
  to: string,
  { proposalId, orderNumber }: Proposal,
  { title, deadline, publicBaseUrl }: { title: string; deadline: Date; publicBaseUrl: string },
): Mail {
  return {
    to,
    subject: 'A proposal waits, and the deadline of its order is near',
    paragraphs: [
      `The proposal "${title}" about the order ${orderNumber} waits for another operator. It does not stop the ` +
        `order's deadline, which passes on ${timeText(deadline)}.`,
      { label: 'The proposal', url: `${publicBaseUrl}/operator/proposals/${proposalId}` },
    ],
  };
}

/** Sent to every operator and the merchant concerned, about an act of one operator alone. */
export function breakGlassMail(
  to: string,
  { by, title, subject, reason }: { by: string; title: string; subject: string; reason: string },
): Mail {
  return {
    to,
    subject: 'An operator has acted alone',
    paragraphs: [
      `"${title}" about ${subject} needs two operators. ${by} has done it alone, on the command line. The reason:`,
      reason,
      'If you do not know why, ask this operator, and tell the other ones.',
    ],
  };
}
