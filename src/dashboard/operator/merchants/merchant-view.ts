import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { mayDo } from '../../../accounts/public.ts';
import type { StatusChange } from '../../../merchants/public.ts';
import type { PastDecision, Review } from '../../../onboarding/public.ts';
import { decisionsOf, missingOf, versionOf } from '../../../onboarding/public.ts';
import type { Proposal } from '../../../proposals/public.ts';
import {
  applicationState,
  bankFacts,
  businessFacts,
  documentTable,
  notReadyReason,
  notReadyText,
  SUSPENSION_STOPS,
} from '../../view/application.ts';
import type { FormState } from '../../view/fields.ts';
import { hidden, submit, textArea, textField } from '../../view/fields.ts';
import type { View } from '../../view/layout.ts';
import { facts, moment, notice, section, written } from '../../view/parts.ts';
import { dataTable } from '../../view/table.ts';
import { form } from '../../view/url.ts';
import type { OperatorViewer } from '../../viewer.ts';
import { openProposals } from '../proposal-tables.ts';
import { merchantPath } from './deps.ts';

/** What a page shows beside the merchant itself. */
export interface Shown {
  message?: ComponentChildren;
  /** What is proposed about the merchant and its orders. */
  proposals?: readonly Proposal[];
  /** The whole account number, for a role that may see it and has asked for it. */
  accountNumber?: string;
  decision?: FormState;
  linkedAccount?: FormState;
}

/** The page of one merchant, with what this operator may do. */
export function merchantView({ role }: OperatorViewer, review: Review, shown: Shown): View {
  const { merchant, application, history } = review;
  const { merchantId } = merchant;
  return {
    title: merchant.name,
    content: [
      h('p', { class: 'lead' }, applicationState(application.state)),
      shown.message,
      openProposals(shown.proposals ?? []),
      application.state === 'not_ready' && notice('wait', notReadyText(merchant)),
      merchantSection(review),
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
        documentTable(application.documents, ({ documentId }) =>
          merchantPath(merchantId, `/documents/${documentId}`),
        ),
      ),
      mayDo(role, 'merchant.linkedAccount') && linkedAccountSection(review, shown),
      mayDo(role, 'merchant.review') && decisionSection(review, shown),
      historySection(history),
    ],
  };
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
function missing({ application }: Review) {
  const sentences = Object.values(missingOf(application)).flat();
  if (sentences.length === 0) return null;
  return h(
    'ul',
    { class: 'list' },
    sentences.map((text) => h('li', { key: text }, `${text}.`)),
  );
}

function accountNumberForm({ merchant, application }: Review, { accountNumber }: Shown) {
  if (application.bank.accountLastFour === null || accountNumber !== undefined) return null;
  return form(
    merchantPath(merchant.merchantId, '/account-number'),
    { 'aria-label': 'Account number' },
    submit('Show the whole number', 'second'),
    h('p', { class: 'hint' }, 'The audit log records who has seen it.'),
  );
}

function linkedAccountSection({ merchant }: Review, { linkedAccount }: Shown) {
  const current = merchant.linkedAccounts.production;
  return section(
    'linked',
    'Linked account',
    h(
      'p',
      null,
      current
        ? ['Production pays out to ', h('code', null, current), '. ', accountText(merchant)]
        : 'Without one, production orders cannot be created or paid.',
    ),
    waitingText(merchant),
    form(
      merchantPath(merchant.merchantId, '/linked-account'),
      { 'aria-label': 'Linked account' },
      textField(
        {
          name: 'linkedAccountId',
          label: `Linked account at ${merchant.gateway}`,
          hint:
            'The id that the gateway gave the account, such as acc_GRWKk7qQsLnDjX. The gateway is ' +
            'asked for it. The first account is active at once, another one later.',
          required: true,
          autocomplete: 'off',
        },
        linkedAccount ?? { values: { linkedAccountId: merchant.waitingAccountId ?? current } },
      ),
      textArea(
        {
          name: 'accountReason',
          label: 'Why this account',
          hint: 'For the operator who approves it, and the audit log.',
          required: true,
          maxLength: 1000,
        },
        linkedAccount ?? {},
      ),
      submit('Propose the linked account', 'second'),
    ),
  );
}

/** The account that is not active yet. */
function waitingText({ waitingAccountId, waitingUntil, linkedAccounts }: Review['merchant']) {
  if (waitingAccountId === null || waitingUntil === null) return null;
  return h(
    'p',
    null,
    'It changes to ',
    h('code', null, waitingAccountId),
    ': what is captured from ',
    moment(waitingUntil),
    ' on goes there. To withdraw the change, set ',
    h('code', null, linkedAccounts.production),
    ' again.',
  );
}

/** What the gateway reports of the linked account. */
function accountText(merchant: Review['merchant']) {
  const { gateway, linkedAccountState } = merchant;
  const reason = notReadyReason(merchant);
  if (reason !== null) return ['The merchant is not ready: ', reason, '.'];
  return linkedAccountState === 'unknown'
    ? `${gateway} has not reported whether it is activated.`
    : `${gateway} makes transfers to it.`;
}

const DECISIONS = {
  approve: {
    button: 'Propose to approve',
    kind: 'button',
    text: 'Approve: another admin has to approve it, too. Then the merchant gets a mail.',
  },
  reject: {
    button: 'Reject',
    kind: 'button danger',
    text:
      'Reject: the merchant gets the reason by mail, can change its application and submit it ' +
      'again. Keys stop working with 403.',
  },
  suspend: {
    button: 'Suspend',
    kind: 'button danger',
    text: `Suspend: the merchant gets the reason by mail. ${SUSPENSION_STOPS}`,
  },
  activate: {
    button: 'Propose to activate',
    kind: 'button',
    text: 'Activate: another admin has to approve it. Then the suspension ends, and releases that wait begin within the hour.',
  },
} as const satisfies Record<StatusChange, { button: string; kind: string; text: string }>;

function decisionSection(review: Review, { decision = {} }: Shown) {
  const { merchant, application } = review;
  const decisions = decisionsOf(review);
  if (decisions.length === 0) {
    const text = 'The merchant has to submit its application again before it can be decided.';
    return notice('plain', text);
  }
  return section(
    'decision',
    'Decision',
    h(
      'ul',
      { class: 'list' },
      decisions.map((change) => h('li', { key: change }, DECISIONS[change].text)),
    ),
    form(
      merchantPath(merchant.merchantId, '/decision'),
      { 'aria-label': 'Decision' },
      hidden('version', versionOf(application)),
      textArea(
        {
          name: 'reason',
          label: 'Reason',
          hint: 'For the audit log. The merchant reads it when you reject or suspend.',
          required: true,
          maxLength: 1000,
        },
        decision,
      ),
      decisions.some((change) => change === 'approve') &&
        merchant.linkedAccounts.production === undefined &&
        textField(
          {
            name: 'firstAccountId',
            label: `First linked account at ${merchant.gateway}, set with the approval`,
            autocomplete: 'off',
          },
          decision,
        ),
      h(
        'div',
        { class: 'actions' },
        decisions.map((change) =>
          h(
            'button',
            { key: change, class: DECISIONS[change].kind, name: 'change', value: change },
            DECISIONS[change].button,
          ),
        ),
      ),
    ),
  );
}

const ACTION_TEXTS: Readonly<Record<string, string>> = {
  'application.submit': 'Submitted',
  'merchant.create': 'Created',
  'merchant.approve': 'Approved',
  'merchant.reject': 'Rejected',
  'merchant.suspend': 'Suspended',
  'merchant.activate': 'Activated',
  'merchant.linkedAccount': 'Linked account set',
};

function historySection(history: readonly PastDecision[]) {
  return section(
    'history',
    'History',
    dataTable({
      caption: 'Submissions and decisions, the latest first',
      columns: [
        { title: 'When', cell: ({ at }) => moment(at) },
        { title: 'What', cell: ({ action }) => ACTION_TEXTS[action] ?? action },
        { title: 'Who', cell: ({ actor }) => actor },
        {
          title: 'Reason',
          cell: ({ reason }) => (reason === null ? '–' : h('span', { dir: 'auto' }, reason)),
        },
      ],
      rows: history,
      empty: 'Nothing has happened yet.',
    }),
  );
}
