import { h } from 'preact';
import { z } from 'zod';
import type { AccountDeps } from '../../accounts/public.ts';
import { readMutedMails, writeMutedMails } from '../../accounts/public.ts';
import type { NoticeDeps } from '../../merchants/public.ts';
import type { OrderMailKind } from '../../orders/public.ts';
import { FAILING_ENDPOINT } from '../../webhooks/public.ts';
import { noticed } from '../context.ts';
import { pagesOf } from '../page.ts';
import { checkBox, submit } from '../view/fields.ts';
import { doneNotice, setting } from '../view/parts.ts';
import { form, link } from '../view/url.ts';
import { accountPath } from './parts.ts';

const FIRST_PAYMENT = 'merchant_first_payment' satisfies OrderMailKind;

const OPTIONAL_MAILS = [
  { kind: FAILING_ENDPOINT, label: 'My server does not accept webhooks' },
  { kind: FIRST_PAYMENT, label: 'My first payment' },
] as const;

/** These mails are about money or security. */
const ALWAYS_SENT = [
  'A dispute: at once, 24 hours before its deadline, and when it has ended',
  'A refund or a settlement by one of our operators',
  'A refund that somebody asked for on this dashboard',
  'Each change for production of keys, approved domains, webhook URL and webhook secret',
  'A change of your bank account, and of the account that you are paid out to',
  'A log-in from a new device, the end of a session, each change of password and two-factor authentication, and of this choice',
  'Decisions about your application and your account',
];

const DONE = { saved: 'Your choice is saved.' } as const;

/** A mail whose box is not ticked is not sent. */
const choices = z.object({
  [FAILING_ENDPOINT]: z.string().optional(),
  [FIRST_PAYMENT]: z.string().optional(),
});

const mailsPage = pagesOf<AccountDeps & { notices: NoticeDeps }, 'merchant'>('merchant');

export const mailPages = [
  mailsPage('GET /account/mails', {
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ viewer, query }, deps) => {
    const muted = await readMutedMails(deps, viewer.user.userId);
    const path = accountPath(viewer);
    const content = [
      doneNotice(DONE, query.done),
      setting(
        'optional',
        'Mails that you can switch off',
        null,
        form(
          `${path}/mails`,
          {},
          OPTIONAL_MAILS.map(({ kind, label }) =>
            checkBox({ name: kind, label, value: muted.includes(kind) ? '' : 'on' }),
          ),
          submit('Save'),
        ),
      ),
      setting(
        'always',
        'Mails that are always sent',
        'They are about money or the security of your account.',
        h(
          'ul',
          { class: 'list' },
          ALWAYS_SENT.map((what) => h('li', { key: what }, what)),
        ),
      ),
      h('p', null, link(path, 'Back to the account')),
    ];
    return { view: { title: 'Mails', content } };
  }),
  mailsPage('POST /account/mails', { body: choices }).handledBy(async (request, deps) => {
    const { viewer, body, address } = request;
    const muted = OPTIONAL_MAILS.map(({ kind }) => kind).filter((kind) => body[kind] === undefined);
    await noticed(deps, request, { kind: 'mails.choose' }, (alongside) =>
      writeMutedMails({ ...deps, alongside }, { userId: viewer.user.userId, address }, muted),
    );
    return { seeOther: `${accountPath(viewer)}/mails?done=saved` };
  }),
];
