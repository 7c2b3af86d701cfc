import { h } from 'preact';
import type { StatusChange } from '../../../merchants/public.ts';
import type { Review } from '../../../onboarding/public.ts';
import { decisionsOf, versionOf } from '../../../onboarding/public.ts';
import type { Proposal } from '../../../proposals/public.ts';
import { notReadyReason, SUSPENSION_STOPS } from '../../view/application.ts';
import { hidden, submit, textField } from '../../view/fields.ts';
import { hint, moment, notice, section } from '../../view/parts.ts';
import { form } from '../../view/url.ts';
import { merchantPath, reasonField } from '../parts.ts';
import type { MerchantVolume } from './volume.ts';

/** What a page shows beside the merchant itself. */
export interface Shown {
  done?: string | undefined;
  volume: MerchantVolume;
  /** What is proposed about the merchant and its orders. */
  proposals?: readonly Proposal[];
  /** The whole account number, for a role that may see it and has asked for it. */
  accountNumber?: string;
}

/** Asks for the whole account number. */
export function accountNumberForm({ merchant, application }: Review, { accountNumber }: Shown) {
  if (application.bank.accountLastFour === null || accountNumber !== undefined) return null;
  return form(
    merchantPath(merchant.merchantId, '/account-number'),
    { 'aria-label': 'Account number' },
    submit('Show the whole number', 'second'),
    hint('The audit log records who has seen it.'),
  );
}

/** The linked account, and the form that proposes another one. */
export function linkedAccountSection({ merchant }: Review) {
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
      textField({
        name: 'linkedAccountId',
        label: `Linked account at ${merchant.gateway}`,
        hint:
          'The id that the gateway gave the account, such as acc_GRWKk7qQsLnDjX. The gateway is ' +
          'asked for it. The first account is active at once, another one later.',
        value: merchant.waitingAccountId ?? current,
        required: true,
        autocomplete: 'off',
      }),
      reasonField('For the operator who approves it, and the audit log.', {
        name: 'accountReason',
        label: 'Why this account',
      }),
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
    title: 'Approve',
    text: 'Another admin has to approve it, too. Then the merchant gets a mail.',
  },
  reject: {
    button: 'Reject',
    kind: 'button danger',
    title: 'Reject',
    text:
      'The merchant gets the reason by mail, can change its application and submit it ' +
      'again. Keys stop working with 403.',
  },
  suspend: {
    button: 'Suspend',
    kind: 'button danger',
    title: 'Suspend',
    text: `The merchant gets the reason by mail. ${SUSPENSION_STOPS}`,
  },
  activate: {
    button: 'Propose to activate',
    kind: 'button',
    title: 'Activate',
    text: 'Another admin has to approve it. Then the suspension ends, and releases that wait begin within the hour.',
  },
} as const satisfies Record<
  StatusChange,
  { button: string; kind: string; title: string; text: string }
>;

/** The decisions that can be made now, with their form. */
export function decisionSection(review: Review) {
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
      decisions.map((change) =>
        h(
          'li',
          { key: change },
          h('h3', null, DECISIONS[change].title),
          hint(DECISIONS[change].text),
        ),
      ),
    ),
    form(
      merchantPath(merchant.merchantId, '/decision'),
      { 'aria-label': 'Decision' },
      hidden('version', versionOf(application)),
      reasonField('For the audit log. The merchant reads it when you reject or suspend.'),
      decisions.some((change) => change === 'approve') &&
        merchant.linkedAccounts.production === undefined &&
        textField({
          name: 'firstAccountId',
          label: `First linked account at ${merchant.gateway}, set with the approval`,
          autocomplete: 'off',
        }),
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
