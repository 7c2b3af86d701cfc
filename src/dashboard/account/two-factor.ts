import { h } from 'preact';
import { z } from 'zod';
import type { AccountDeps, TwoFactorSetUp } from '../../accounts/public.ts';
import {
  confirmTwoFactor,
  disableTwoFactor,
  readTwoFactor,
  readTwoFactorSetUp,
  renewRecoveryCodes,
  SESSION_COOKIE,
  startTwoFactor,
} from '../../accounts/public.ts';
import { qrCode } from '../../pages/qr-code.ts';
import { cookieText } from '../context.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { facts, moment, notice, section, setting } from '../view/parts.ts';
import { copyable, downloadText } from '../view/texts.ts';
import { form, link } from '../view/url.ts';
import type { MerchantViewer, OperatorViewer } from '../viewer.ts';
import {
  accountPage,
  accountPath,
  clientOf,
  codeField,
  passwordField,
  refusal,
  text,
} from './parts.ts';

type Viewer = MerchantViewer | OperatorViewer;

export const twoFactorPages = [
  accountPage('GET /account/two-factor', {
    isBeforeTwoFactor: true,
  }).handledBy(async ({ viewer }, accounts) => ({ view: await twoFactorView(accounts, viewer) })),
  accountPage('POST /account/two-factor/start', {
    isBeforeTwoFactor: true,
  }).handledBy(async ({ viewer }, accounts) => {
    await startTwoFactor(accounts, viewer.user);
    return { seeOther: `${accountPath(viewer)}/two-factor` };
  }),
  accountPage('POST /account/two-factor/confirm', {
    formPath: '/account/two-factor',
    body: z.object({ password: text, code: text }),
    isBeforeTwoFactor: true,
  }).handledBy(async (request, accounts) => {
    const { viewer, body } = request;
    const change = await confirmTwoFactor(accounts, viewer.user, body, clientOf(request));
    return {
      view: codesView(change.recoveryCodes, viewer, 'Two-factor authentication is on.'),
      setCookie: cookieText(SESSION_COOKIE, change.sessionToken),
    };
  }),
  accountPage('POST /account/two-factor/recovery-codes', {
    formPath: '/account/two-factor',
    body: z.object({ 'codes-password': text, 'codes-code': text }),
  }).handledBy(async (request, accounts) => {
    const { viewer, body } = request;
    const given = { password: body['codes-password'], code: body['codes-code'] };
    const codes = await renewRecoveryCodes(accounts, viewer.user, given, clientOf(request));
    return { view: codesView(codes, viewer, 'The old recovery codes no longer work.') };
  }),
  accountPage('POST /account/two-factor/off', {
    formPath: '/account/two-factor',
    body: z.object({ password: text, code: text }),
  }).handledBy(async (request, accounts) => {
    const { viewer, body } = request;
    await disableTwoFactor(accounts, viewer.user, body, clientOf(request));
    return { seeOther: `${accountPath(viewer)}?done=two-factor-off` };
  }),
];

async function twoFactorView(accounts: AccountDeps, viewer: Viewer): Promise<View> {
  const path = accountPath(viewer);
  const [{ since, recoveryCodesLeft }, setUp] = await Promise.all([
    readTwoFactor(accounts, viewer.user),
    readTwoFactorSetUp(accounts, viewer.user),
  ]);
  const back = h('p', null, link(path, 'Back to the account'));
  if (since !== null) {
    const content = [
      refusal(),
      section(
        'on',
        'Two-factor is on',
        facts({
          'Switched on': moment(since),
          'Recovery codes': `${recoveryCodesLeft} of 10 left`,
        }),
      ),
      renewSection(path),
      offSection(path, viewer),
      back,
    ];
    return { title: 'Two-factor authentication', content };
  }
  const content = setUp ? setUpParts(path, setUp) : startParts(path);
  return { title: 'Set up two-factor', content: [...content, back] };
}

function startParts(path: string) {
  return [
    h(
      'p',
      null,
      'With two-factor authentication a login needs your password and a code of six digits from an app on your phone, such as Aegis, Google Authenticator, 1Password or the password manager of your phone.',
    ),
    form(`${path}/two-factor/start`, {}, submit('Start')),
  ];
}

function setUpParts(path: string, { secret, uri }: TwoFactorSetUp) {
  return [
    refusal(),
    setting(
      'scan',
      '1. Add the account to the app',
      'Scan this code, or type the secret.',
      qrCode({ text: uri, label: 'QR code for an authenticator app' }),
      copyable('secret', secret),
    ),
    setting(
      'enter',
      '2. Switch it on',
      'Enter the code that the app shows, and your password.',
      form(
        `${path}/two-factor/confirm`,
        {},
        codeField('Six digits. They change every 30 seconds.'),
        passwordField('Your password'),
        submit('Switch on'),
      ),
    ),
  ];
}

/** The codes are shown once; the database has only their hashes. */
function codesView(codes: readonly string[], viewer: Viewer, done: string): View {
  const list = codes.join('\n');
  const content = [
    notice('good', done, 'status'),
    section(
      'codes',
      'Your recovery codes',
      h(
        'p',
        null,
        'Without your phone you log in with one of these codes. Each works once. They are not shown again: keep them where you keep important papers.',
      ),
      copyable('recovery codes', list),
      downloadText('Download', 'recovery-codes.txt', `${list}\n`),
    ),
    h('p', null, link(accountPath(viewer), 'I have stored them', { class: 'button' })),
  ];
  return { title: 'Recovery codes', content };
}

function renewSection(path: string) {
  return setting(
    'renew',
    'New recovery codes',
    'The codes that you have then no longer work.',
    form(
      `${path}/two-factor/recovery-codes`,
      {},
      passwordField('Your password', 'codes-password'),
      codeField(undefined, 'codes-code'),
      submit('Make new codes', 'second'),
    ),
  );
}

function offSection(path: string, viewer: Viewer) {
  const isOperator = !('environment' in viewer);
  return setting(
    'off',
    'Switch it off',
    isOperator
      ? 'Operators need it: you have to set it up again before you can continue. Do so with a new phone.'
      : 'Whoever has your password can then log in.',
    form(
      `${path}/two-factor/off`,
      {},
      passwordField('Your password'),
      codeField(),
      submit('Switch off', 'danger'),
    ),
  );
}
