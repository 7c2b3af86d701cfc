import type { TestUser } from '../support/users.ts';
import type { FormFields, Visit } from './browsing.ts';
import { browserOf } from './browsing.ts';

/** A browser that keeps the cookies that it gets. @param user whose session it begins with; none without */
export function visitorOf(baseUrl: string, user?: Pick<TestUser, 'cookie'>) {
  const jar = new Map<string, string>();
  if (user) jar.set(...(user.cookie.split('=') as [string, string]));

  function keep(visit: Visit): Visit {
    for (const text of visit.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      if (text.includes('; Max-Age=0')) jar.delete(name);
      else jar.set(name, value);
    }
    return visit;
  }
  const cookie = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const browser = () => browserOf(baseUrl, { cookie: cookie() });

  return {
    cookie,
    get: async (path: string, headers?: Record<string, string>) =>
      keep(await browser().get(path, headers)),
    post: async (path: string, fields?: FormFields, headers?: Record<string, string>) =>
      keep(await browser().post(path, fields, headers)),
    /** Follows redirects to the page that is shown at the end. */
    async follow(visit: Visit): Promise<Visit> {
      let at = visit;
      while (at.location !== null) at = keep(await browser().get(at.location));
      return at;
    },
  };
}
