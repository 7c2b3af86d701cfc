import { h } from 'preact';

/** What an error page tells a person who needs help. */
export interface Reference {
  /** By which operators find the order of the request, and its lines in the log. */
  readonly requestId: string;
  /** Whom to write to; undefined if no address is set. */
  readonly supportEmail: string | undefined;
}

/** The words around a reference. */
export interface ReferenceWords {
  readonly before: string;
  readonly beforeAddress: string;
  readonly afterAddress: string;
}

/** {@link ReferenceWords} in English. */
export const ENGLISH_REFERENCE: ReferenceWords = {
  before: 'Reference for support: ',
  beforeAddress: '. If it happens again, write to ',
  afterAddress: ' with this reference.',
};

/** The reference of a failed request and, if it is set, the address of support. */
export function referenceText(
  { requestId, supportEmail }: Reference,
  { before, beforeAddress, afterAddress }: ReferenceWords = ENGLISH_REFERENCE,
) {
  const reference = [before, h('code', null, requestId)];
  if (supportEmail === undefined) return reference;
  const address = h('a', { href: `mailto:${supportEmail}?subject=${requestId}` }, supportEmail);
  return [...reference, beforeAddress, address, afterAddress];
}
