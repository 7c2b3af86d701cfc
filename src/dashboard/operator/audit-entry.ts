import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { NamedUser } from '../../accounts/public.ts';
import type { AuditEntry, WithMerchantName } from '../../merchants/public.ts';
import { capitalised, details, facts, tag, wordsOf } from '../view/parts.ts';
import { shortId } from '../view/texts.ts';
import { link } from '../view/url.ts';
import { actionText } from './audit-actions.ts';
import { merchantLink, orderLink } from './parts.ts';

/** A line of the audit list with the names for its ids. */
export type ShownEntry = WithMerchantName<AuditEntry> & { user: NamedUser | undefined };

const ACTOR_KINDS: Partial<Record<string, string>> = {
  operator: 'Operator',
  merchant: "Merchant's user",
  key: 'API key',
  cli: 'Terminal',
};

const ACTORS_WITHOUT_NAME: Partial<Record<string, string>> = {
  service: 'The service',
  gateway: 'The gateway',
  buyer: 'The buyer',
  anonymous: 'Not logged in',
};

/** A person's address with its kind, an API key, or the service. @param actor as it is recorded: `merchant:asha@shop.example` */
export function whoCell({ actor }: { actor: string }): ComponentChildren {
  const end = actor.indexOf(':');
  const kind = ACTOR_KINDS[actor.slice(0, end)];
  if (end < 0 || kind === undefined) {
    return ACTORS_WITHOUT_NAME[actor] ?? (actor.includes('@') ? actor : capitalised(actor));
  }
  const name = actor.slice(end + 1);
  const shown = actor.startsWith('key:') ? shortId('API key', name) : name;
  return [shown, ' ', h('span', { class: 'hint' }, kind)];
}

/** The outcomes of a command; one that is done is shown without a word. */
const OUTCOMES = {
  DONE: null,
  WAITING: tag('wait', 'Waiting'),
  REFUSED: tag('bad', 'Refused'),
} as const satisfies Record<NonNullable<AuditEntry['outcome']>, ComponentChildren>;

/** What was done; the reason and other details are shown on demand. */
export function whatCell(entry: ShownEntry): ComponentChildren {
  const { action, outcome } = entry;
  return details([actionText(action), ' ', outcome && OUTCOMES[outcome]], facts(factsOf(entry)));
}

function valueOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueOf).join(', ');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, one]) => `${wordsOf(name)}: ${valueOf(one)}`)
      .join('; ');
  }
  if (value === true) return 'Yes';
  return value === false ? 'No' : String(value);
}

function factsOf({ action, reason, actor, address, requestId, details: rest }: ShownEntry) {
  const named = Object.entries(rest)
    .filter(([name, value]) => name !== 'reason' && value !== null && value !== '')
    .map(([name, value]) => [wordsOf(name), h('bdi', null, valueOf(value))]);
  return {
    Reason: reason && h('span', { dir: 'auto' }, reason),
    From: address || (actor.startsWith('cli:') && 'Terminal'),
    'Action code': h('code', null, action),
    Request: requestId && h('code', null, requestId),
    ...(Object.fromEntries(named) as Record<string, ComponentChildren>),
  };
}

/** The subject: the order, the user, or the id, and the merchant by its name. */
export function onCell(entry: ShownEntry): ComponentChildren {
  const { merchantId, merchantName } = entry;
  const parts = [subjectOf(entry), merchantId && merchantLink(merchantId, merchantName)].filter(
    Boolean,
  );
  return parts.flatMap((part, index) => (index === 0 ? [part] : [' · ', part]));
}

function subjectOf({ subject, merchantId, user }: ShownEntry): ComponentChildren {
  if (!subject || subject === merchantId) return null;
  if (subject.startsWith('ORD')) return orderLink(subject);
  if (user?.isOperator) return link(`/operator/operators/${user.userId}`, user.email);
  return user ? user.email : h('code', null, subject);
}
