import type { TestUser } from '../support/users.ts';

/** A response as a browser without a script sees it. */
export interface Visit {
  status: number;
  headers: Headers;
  body: string;
  /** The path of a redirect, without the service's address; null without one. */
  location: string | null;
}

/** The fields of a form; a list sends its name several times. */
export type FormFields = Readonly<Record<string, string | readonly string[]>>;

/**
 * Visits pages over HTTP as a browser does, redirects excepted, so that tests see them.
 *
 * @param baseUrl of the service
 * @param user whose session the browser has; none without
 */
export function browserOf(baseUrl: string, user?: Pick<TestUser, 'cookie'>) {
  const cookie = user ? { Cookie: user.cookie } : {};

  async function visit(path: string, init: RequestInit): Promise<Visit> {
    const response = await fetch(new URL(path, baseUrl), { redirect: 'manual', ...init });
    const location = response.headers.get('location');
    return {
      status: response.status,
      headers: response.headers,
      body: await response.text(),
      location: location && location.replace(new URL(baseUrl).origin, ''),
    };
  }

  return {
    get: (path: string, headers: Record<string, string> = {}) =>
      visit(path, { headers: { 'Sec-Fetch-Site': 'same-origin', ...cookie, ...headers } }),

    /** Sends a form of the page. `headers` replace those of a browser. */
    post(path: string, fields: FormFields = {}, headers: Record<string, string> = {}) {
      const body = new URLSearchParams();
      for (const [name, values] of Object.entries(fields)) {
        for (const value of [values].flat()) body.append(name, value);
      }
      const own = { 'Sec-Fetch-Site': 'same-origin', ...cookie, ...headers };
      return visit(path, { method: 'POST', body, headers: own });
    },

    upload(path: string, form: FormData) {
      const headers = { 'Sec-Fetch-Site': 'same-origin', ...cookie };
      return visit(path, { method: 'POST', body: form, headers });
    },
  };
}
