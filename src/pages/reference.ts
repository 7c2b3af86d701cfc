import { h } from 'preact';

export interface Reference {
  /** Operators search for it to find the order of the request and its log lines. */
  readonly requestId: string;
  readonly supportEmail: string | undefined;
}

export interface ReferenceWords {
  readonly before: string;
  readonly beforeAddress: string;
  readonly afterAddress: string;
}

export const ENGLISH_REFERENCE: ReferenceWords = {
  before: 'Reference for support: ',
  beforeAddress: '. If it happens again, write to ',
  afterAddress: ' with this reference.',
};

/** Formats the reference of a failed request and, if it is set, the address of support. */
export function referenceText(
  { requestId, supportEmail }: Reference,
  { before, beforeAddress, afterAddress }: ReferenceWords = ENGLISH_REFERENCE,
) {
  const reference = [before, h('code', null, requestId)];
  if (supportEmail === undefined) return reference;
  const address = h('a', { href: `mailto:${supportEmail}?subject=${requestId}` }, supportEmail);
  return [...reference, beforeAddress, address, afterAddress];
}
