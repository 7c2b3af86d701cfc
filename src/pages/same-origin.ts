import { z } from 'zod';
import { errorOf } from '../http/responses/errors.ts';

/** The request headers that identify the origin of a form submission. */
export const formHeaders = z.object({
  'Sec-Fetch-Site': z.string().optional(),
  Origin: z.string().optional(),
  Host: z.string().optional(),
});

/**
 * Refuses form submissions from other sites. It is a second protection: the pages use no cookies, and a form's URL
 * contains the unguessable token.
 *
 * A browser without Sec-Fetch-Site sends `Origin: null` with the page's own forms, because the pages forbid the
 * referrer. Clients that are not browsers may send neither header.
 *
 * @throws DomainError `ORIGIN_NOT_ALLOWED`
 */
export function assertSameOrigin(headers: z.output<typeof formHeaders>): void {
  const { 'Sec-Fetch-Site': site, Origin: origin = 'null', Host: host } = headers;
  const isOurs =
    site === undefined
      ? origin === 'null' || (URL.canParse(origin) && new URL(origin).host === host)
      : site === 'same-origin' || site === 'none';
  if (!isOurs) throw errorOf('ORIGIN_NOT_ALLOWED');
}

/**
 * Refuses a form submission that does not come from a page of this service. It is for pages with a session cookie,
 * so unlike {@link assertSameOrigin} it also refuses a request without either header.
 *
 * @param publicBaseUrl the URL under which browsers reach the service
 * @throws DomainError `ORIGIN_NOT_ALLOWED`
 */
export function assertOwnForm(given: z.output<typeof formHeaders>, publicBaseUrl: string): void {
  if (!isOwnForm(given, publicBaseUrl)) throw errorOf('ORIGIN_NOT_ALLOWED');
}

/** False if {@link assertOwnForm} would refuse the submission. */
export function isOwnForm(
  { 'Sec-Fetch-Site': site, Origin: origin }: z.output<typeof formHeaders>,
  publicBaseUrl: string,
): boolean {
  return site === undefined ? origin === new URL(publicBaseUrl).origin : site === 'same-origin';
}
