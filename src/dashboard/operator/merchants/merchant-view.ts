import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { OperatorRole } from '../../../accounts/public.ts';
import { mayDo } from '../../../accounts/public.ts';
import type { DocumentFacts, Review } from '../../../onboarding/public.ts';
import { missingOf } from '../../../onboarding/public.ts';
import {
  applicationState,
  bankFacts,
  businessFacts,
  changesSection,
  documentTable,
  missingList,
  notReadyText,
  shownDocuments,
} from '../../view/application.ts';
import { refused } from '../../view/fields.ts';
import type { View } from '../../view/layout.ts';
import { timeline } from '../../view/order.ts';
import {
  doneNotice,
  emptyState,
  facts,
  moment,
  notice,
  objectHead,
  section,
  written,
} from '../../view/parts.ts';
import { shortId } from '../../view/texts.ts';
import type { OperatorViewer } from '../../viewer.ts';
import { actionText } from '../audit-actions.ts';
import { whoCell } from '../audit-entry.ts';
import { jumpTo, merchantPath } from '../parts.ts';
import { openProposals } from '../proposal-tables.ts';
import type { Shown } from './merchant-forms.ts';
import { accountNumberForm, decisionSection, linkedAccountSection } from './merchant-forms.ts';
import { volumeSection } from './volume.ts';

const DONE = {
  reject: 'The merchant is rejected.',
  suspend: 'The merchant is suspended.',
} as const;

/** The page of one merchant, with what this operator may do. */
export function merchantView({ role }: OperatorViewer, review: Review, shown: Shown): View {
  const { merchant, application } = review;
  return {
    title: merchant.name,
    hasOwnHeading: true,
    content: [
      objectHead(
        {
          path: '/operator/merchants',
          list: 'Merchants',
          one: shortId('merchant id', merchant.merchantId),
        },
        h('bdi', null, merchant.name),
        applicationState(application.state),
      ),
      mayDo(role, 'merchant.review') && jumpTo('decision', 'Decide'),
      doneNotice(DONE, shown.done),
      refused({ end: '.' }),
      openProposals(shown.proposals ?? []),
      application.state === 'not_ready' && notice('wait', notReadyText(merchant)),
      besideEachOther(mainSections(role, review, shown), [
        mayDo(role, 'merchant.review') && decisionSection(review),
        mayDo(role, 'merchant.linkedAccount') && linkedAccountSection(review),
      ]),
    ],
  };
}

/** What is read, and beside it what this operator may do; a role that only reads has the whole width. */
function besideEachOther(main: ComponentChildren[], actions: ComponentChildren[]) {
  const allowed = actions.filter(Boolean);
  if (allowed.length === 0) return main;
  return h(
    'div',
    { class: 'split' },
    h('div', null, ...main),
    h('aside', { class: 'beside' }, ...allowed),
  );
}

/** While an application waits for its decision, the page shows the documents themselves. */
export function isReviewed({ application }: Review): boolean {
  return application.state === 'under_review';
}

function mainSections(role: OperatorRole, review: Review, shown: Shown): ComponentChildren[] {
  const { application, history } = review;
  return [
    merchantSection(review),
    changesSection(application),
    volumeSection(shown.volume),
    ...(isBlank(application)
      ? [section('business', 'Business', emptyState(NOTHING_ENTERED), missing(review))]
      : applicationSections(role, review, shown)),
    section(
      'history',
      'History',
      timeline(
        history.map(({ at, action, actor, reason }) => ({
          what: actionText(action),
          at,
          by: whoCell({ actor }),
          details: { reason },
        })),
      ),
    ),
  ];
}

const NOTHING_ENTERED = 'The business, its bank account and its documents have not been entered.';

/** Nothing of an application has been entered. */
const isBlank = ({ business, bank, documents }: Review['application']) =>
  [...Object.values(business), ...Object.values(bank), ...documents].every((one) => one === null);

/** What the merchant has entered. */
function applicationSections(role: OperatorRole, review: Review, shown: Shown) {
  const { merchant, application } = review;
  const pathOf = ({ documentId }: DocumentFacts) =>
    merchantPath(merchant.merchantId, `/documents/${documentId}`);
  return [
    section('business', 'Business', businessFacts(application.business), missing(review)),
    section(
      'bank',
      'Bank account',
      bankFacts(application.bank, shown.accountNumber),
      mayDo(role, 'accountNumber.read') && accountNumberForm(review, shown),
    ),
    section(
      'documents',
      'Documents',
      isReviewed(review)
        ? shownDocuments(application.documents, pathOf)
        : documentTable(application.documents, pathOf),
    ),
  ];
}

function merchantSection({ merchant, application, hasUser }: Review) {
  const { statusReason, submittedAt, submissions } = application;
  return section(
    'merchant',
    'Merchant',
    facts({
      'Merchant id': h('code', null, merchant.merchantId),
      'E-mail': merchant.email,
      Created: moment(merchant.createdAt),
      'Signed up': hasUser ? 'Yes' : 'No: made on the command line',
      Submitted: submittedAt && [moment(submittedAt), submissions > 1 && ` · ${submissions} times`],
      'Reason of the status': statusReason && written(statusReason),
    }),
  );
}

/** Rules can change after a submission; a draft says what it lacks. */
const missing = ({ application }: Review) =>
  missingList(Object.values(missingOf(application)).flat());
