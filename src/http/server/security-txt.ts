import { z } from 'zod';
import { defineRoute } from '../define-route.ts';
import type { Route } from '../define-route.ts';

const PATH = '/.well-known/security.txt';

/** RFC 9116 recommends less than a year: who reads the file later asks for it again. */
const VALID_FOR_MS = 180 * 24 * 60 * 60_000;

/** Where to report a vulnerability of this installation. */
export interface SecurityContact {
  /** An https: or mailto: address. Undefined: the path does not exist. */
  readonly contact: string | undefined;
  /** The https: address of the policy by which reports are handled. */
  readonly policyUrl: string | undefined;
  readonly publicBaseUrl: string;
}

/** Declares `/.well-known/security.txt`, in the form of RFC 9116, if there is a contact. */
export function securityTxtRoutes({ contact, policyUrl, publicBaseUrl }: SecurityContact): Route[] {
  if (contact === undefined) return [];
  // The RFC allows only https: here.
  const canonical = publicBaseUrl.startsWith('https:') ? publicBaseUrl + PATH : undefined;
  const text = (now: number) =>
    Object.entries({
      Contact: contact,
      Expires: new Date(now + VALID_FOR_MS).toISOString(),
      'Preferred-Languages': 'en',
      Canonical: canonical,
      Policy: policyUrl,
    })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join('');
  const route = defineRoute({
    method: 'GET',
    base: 'root',
    path: PATH,
    operationId: 'getSecurityTxt',
    responses: {
      200: { description: 'The file.', contentType: 'text/plain', schema: z.string() },
    },
  }).handledBy(async () => ({ status: 200, body: text(Date.now()) }));
  return [route];
}
