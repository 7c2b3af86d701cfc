import Bowser from 'bowser';
import { h } from 'preact';
import { z } from 'zod';
import type { ListedSession, SignedInUser } from '../../accounts/public.ts';
import {
  endOtherSessions,
  endSession,
  listSessions,
  noticeMail,
  readTwoFactor,
} from '../../accounts/public.ts';
import { errorOf } from '../../http/responses/errors.ts';
import { hidden, submit } from '../view/fields.ts';
import { doneNotice, facts, moment, notice, setting, tag, wordsOf } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortMoment } from '../view/texts.ts';
import { form, link } from '../view/url.ts';
import { accountPage, accountPath, text } from './parts.ts';

const DONE = {
  password: 'Your password is changed. All other sessions have ended.',
  'two-factor-off': 'Two-factor authentication is switched off.',
  ended: 'The session has ended.',
  'ended-others': 'All other sessions have ended.',
} as const;

export const accountPages = [
  accountPage('GET /account', {
    query: z.object({ done: z.string().optional() }),
    isBeforeTwoFactor: true,
  }).handledBy(async ({ viewer, query }, accounts) => {
    const { user } = viewer;
    const [twoFactor, sessions] = await Promise.all([
      readTwoFactor(accounts, user),
      listSessions(accounts, user.userId),
    ]);
    const path = accountPath(viewer);
    const mustSetUp = user.role !== null && !user.hasTwoFactor;
    const content = [
      doneNotice(DONE, query.done),
      mustSetUp &&
        notice('wait', 'Operators log in with two-factor authentication: set it up to continue.'),
      setting('login', 'Login', 'What protects your account.', loginFacts(user, twoFactor, path)),
      setting(
        'sessions',
        'Sessions',
        'Where you are logged in. End those that you do not know.',
        sessionParts(sessions, user, path),
      ),
    ];
    return { view: { title: 'Account', content } };
  }),
  accountPage('POST /account/sessions/end', {
    formPath: '/account',
    body: z.object({ sessionId: text }),
    isBeforeTwoFactor: true,
  }).handledBy(async ({ viewer, body, address }, accounts) => {
    const hasEnded = await endSession(accounts, viewer.user.userId, body.sessionId, address);
    if (!hasEnded) throw errorOf('NOT_FOUND');
    await accounts.sendMail(noticeMail(accounts, viewer.user.email, 'session.end'));
    return { seeOther: `${accountPath(viewer)}?done=ended` };
  }),
  accountPage('POST /account/sessions/end-others', {
    isBeforeTwoFactor: true,
  }).handledBy(async ({ viewer, address }, accounts) => {
    const { userId, sessionId, email } = viewer.user;
    const haveEnded = await endOtherSessions(accounts, userId, sessionId, address);
    if (haveEnded) await accounts.sendMail(noticeMail(accounts, email, 'session.end'));
    return { seeOther: `${accountPath(viewer)}?done=ended-others` };
  }),
];

function loginFacts(
  user: SignedInUser,
  { since, recoveryCodesLeft }: Awaited<ReturnType<typeof readTwoFactor>>,
  path: string,
) {
  return [
    facts({
      'E-mail': user.email,
      Role: user.role && wordsOf(user.role),
      'Two-factor': since
        ? [tag('good', 'On'), ' since ', moment(since)]
        : [tag('wait', 'Off', 'ban'), ' The password alone is enough to log in.'],
      'Recovery codes': since && `${recoveryCodesLeft} of 10 left`,
    }),
    h(
      'div',
      { class: 'actions' },
      link(`${path}/two-factor`, since ? 'Manage two-factor' : 'Set up two-factor', {
        class: since ? 'button second' : 'button',
      }),
      (user.role === null || user.hasTwoFactor) &&
        link(`${path}/password`, 'Change the password', { class: 'button second' }),
      user.merchantId !== null &&
        link(`${path}/mails`, 'Choose your mails', { class: 'button second' }),
    ),
  ];
}

function sessionParts(sessions: readonly ListedSession[], user: SignedInUser, path: string) {
  const isThis = ({ sessionId }: ListedSession) => sessionId === user.sessionId;
  return [
    dataTable({
      caption: 'Where you are logged in',
      isCompact: true,
      rows: sessions,
      empty: 'None.',
      columns: {
        Browser: ({ userAgent }) => browserName(userAgent),
        Address: ({ address }) => address,
        Since: ({ createdAt }) => shortMoment(createdAt),
        'Last used': ({ lastSeenAt }) => shortMoment(lastSeenAt),
        End: (session) =>
          isThis(session)
            ? 'This session'
            : form(
                `${path}/sessions/end`,
                { 'aria-label': `Session of ${session.address}` },
                hidden('sessionId', session.sessionId),
                submit('End', 'small'),
              ),
      },
    }),
    sessions.length > 1 &&
      form(`${path}/sessions/end-others`, {}, submit('End all other sessions', 'second')),
  ];
}

/** Such as "Chrome on Linux"; the title is the whole User-Agent. */
function browserName(userAgent: string) {
  const { browser, os } = Bowser.parse(userAgent || 'Unknown');
  const name = [browser.name ?? 'Unknown', os.name].filter(Boolean).join(' on ');
  return h('span', { title: userAgent }, name);
}
