import { h } from 'preact';

/** What an error page tells a person who needs help. */
export interface Reference {
  /** By which operators find the order of the request, and its lines in the log. */
  readonly requestId: string;
  /** Whom to write to; undefined if no address is set. */
  readonly supportEmail: string | undefined;
}

/** The reference of a failed request and, if it is set, the address of support. */
export function referenceText({ requestId, supportEmail }: Reference) {
  const reference = ['Reference for support: ', h('code', null, requestId)];
  if (supportEmail === undefined) return reference;
  const address = h('a', { href: `mailto:${supportEmail}?subject=${requestId}` }, supportEmail);
  return [...reference, '. If it happens again, write to ', address, ' with this reference.'];
}
