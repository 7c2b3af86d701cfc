import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { View } from '../view/layout.ts';
import { icon } from '../view/icon.ts';

/** The page after a mail with a link was sent. It does not say whether the address has an account. */
export function mailSentView(email: string, ...then: ComponentChildren[]): View {
  return {
    title: 'Check your e-mail',
    content: [
      h(
        'p',
        { class: 'lead', role: 'status' },
        icon('mail'),
        ' Check your e-mail at ',
        h('strong', null, email),
        ' and open the link in it.',
      ),
      ...then,
    ],
  };
}
