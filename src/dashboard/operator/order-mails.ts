import type { OrderMailRecord } from '../../mail/public.ts';
import { section, tag } from '../view/parts.ts';
import { shortMoment } from '../view/short-texts.ts';
import { dataTable } from '../view/table.ts';

/** The mails about an order, without what is in them. */
export function mailsPart(mails: readonly OrderMailRecord[]) {
  return section(
    'mails',
    'Mails',
    dataTable({
      caption: 'Mails to buyer and merchant',
      rows: mails,
      empty: 'None. Records are kept for some weeks; orders of the sandbox send no mails.',
      columns: [
        { title: 'Mail', cell: ({ kind }) => wordsOf(kind) },
        { title: 'Written', cell: ({ createdAt }) => shortMoment(createdAt) },
        {
          title: 'Status',
          cell: ({ sentAt, failure }) => {
            if (sentAt !== null) return [tag('good', 'Sent'), ' ', shortMoment(sentAt)];
            return failure === null
              ? tag('wait', 'Waiting')
              : [tag('bad', 'Failed'), ` ${failure}`];
          },
        },
      ],
    }),
  );
}

/** `buyer_dispute_raised` as "To the buyer: dispute raised". */
function wordsOf(kind: string): string {
  const [reader = '', ...about] = kind.split('_');
  return `To the ${reader}: ${about.join(' ')}`;
}
