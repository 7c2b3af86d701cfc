import { z } from 'zod';
import type { SignedInUser } from '../accounts/public.ts';
import { SESSION_COOKIE } from '../accounts/public.ts';
import { assertOwnForm, formHeaders } from '../pages/same-origin.ts';
import type { PageContext } from './context.ts';
import { readCookie } from './context.ts';
import type { PageResponse } from './reply.ts';
import { redirectTo } from './reply.ts';
import { withoutForm } from './typed-forms.ts';
import type { AccessRule, Place } from './viewer.ts';
import { RedirectFirst, viewerOf } from './viewer.ts';

/** The headers that say who sends the request of a page, and from where. */
export const pageHeaders = formHeaders.extend({
  Cookie: z.string().optional(),
  'User-Agent': z.string().optional(),
  'Sec-Fetch-Dest': z.string().optional(),
});
type PageHeaders = z.output<typeof pageHeaders>;

/** Whether the request comes from another site, so that the browser has sent no session cookie. */
export function lacksStrictCookie({ Cookie, 'Sec-Fetch-Site': site }: PageHeaders): boolean {
  return site === 'cross-site' && readCookie(Cookie, SESSION_COOKIE) === undefined;
}

/**
 * The user of a request's session. What the script of a live page fetches is no activity: otherwise a
 * page that is left open keeps its session from becoming idle.
 */
export async function userOf(
  context: PageContext,
  { Cookie, 'Sec-Fetch-Dest': destination }: PageHeaders,
): Promise<SignedInUser | undefined> {
  const token = readCookie(Cookie, SESSION_COOKIE);
  if (token === undefined) return undefined;
  return context.readSession(token, destination !== 'empty');
}

/** Checks the sender of a file before the file is read; the handler's checks follow after that. */
export function createUploadCheck(context: PageContext, page: AccessRule, place: Place) {
  return async (given: Readonly<Record<string, unknown>>): Promise<PageResponse | undefined> => {
    const sent = pageHeaders.parse(given);
    assertOwnForm(sent, context.publicBaseUrl);
    const user = await userOf(context, sent);
    try {
      viewerOf(user, page, place.environment, place.path);
      return undefined;
    } catch (error) {
      if (!(error instanceof RedirectFirst)) throw error;
      return redirectTo(context, withoutForm(error, place.path));
    }
  };
}
