import { expect } from 'vitest';
import type { Route } from '../../src/http/define-route.ts';
import { merchantUser, operatorUser, signIn } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

/** Every name of a field of a query of the dashboard. */
export const QUERY_NAMES = `
  action after attempt before count done event from list merchant next order q since
  state status subject text to until who __proto__ constructor`
  .trim()
  .split(/\s+/);

/** Every name of a field of a form. */
const FORM_NAMES = `
  accountHolder accountNumber accountNumberAgain businessKind businessName change city
  code codes-code codes-password confirmed deliveries[] domains email gstin idempotencyKey ifsc kind
  legalName linkedAccountId newPassword outcome pan password phone pinCode reason
  reference region role resend-since sessionId street url version winner`
  .trim()
  .split(/\s+/)
  .concat(QUERY_NAMES);

type Hostile = [what: string, value: string];

const SCRIPT = '"><script>alert(1)</script>';
/** What has broken pages before: one value of each kind. */
export const SOME: readonly Hostile[] = [
  ['markup', SCRIPT],
  ['the year 0', '0000-01-01'],
  ['a number that no column holds', '9'.repeat(400)],
  ['NUL', 'a\0'],
  ['another site', '//evil.example'],
];

/** The other values. */
export const MORE: readonly Hostile[] = [
  ['the name of a prototype', '__proto__'],
  ['the name of a method of every object', 'constructor'],
  ['SQL', "' OR 1=1; --"],
  ['the year 0 with a time', '0000-01-01T00:00'],
  ['a day that does not exist', '2026-02-31'],
  ['the last year of all', '9999-12-31'],
  ['a negative number', '-1'],
  ['many combining marks', `a${'\u0345'.repeat(40)}${'\u0334'.repeat(40)}`],
  ['a line break', 'a\r\nSet-Cookie: a=b'],
  ['a path upwards', '../../../etc/passwd'],
  ['nothing', ''],
];

/** The `test` of a file that sends hostile values to all pages. */
export const hostileTest = () =>
  dashboardTest({ time: 'real', worker: false, merchant: { webhooks: false } })
    .extend('users', { scope: 'file' }, async ({ service, merchant }) => ({
      owner: await merchantUser(service.sql, merchant.merchantId),
      admin: await operatorUser(service.sql, 'admin'),
    }))
    .extend('request', ({ service, users }) => {
      return async (route: Route, value: string, names: readonly string[] = QUERY_NAMES) => {
        const user = route.path.startsWith('/operator') ? users.admin : users.owner;
        // A session of its own: a form may end it.
        const cookie = await signIn(service.sql, user.userId);
        const browser = browserOf(service.origin, { cookie });
        const inPath = encodeURIComponent(value.toWellFormed() || 'x').replaceAll('.', '%2E');
        const path = route.path.replaceAll(/\{\w+\}/g, inPath);
        const query = new URLSearchParams(names.map((name) => [name, value])).toString();
        if (route.method === 'GET') return browser.get(`${path}?${query}`);
        if (route.bodyType !== 'multipart')
          return browser.post(path, Object.fromEntries(FORM_NAMES.map((name) => [name, value])));
        const form = new FormData();
        for (const name of FORM_NAMES) form.set(name, value);
        form.set('file', new File([value], value));
        return browser.upload(path, form);
      };
    });

type HostileTest = ReturnType<typeof hostileTest>;

/** A test of every page and form with each of these values in all fields. */
export function valuesDoNoHarm(test: HostileTest, values: readonly Hostile[]): void {
  test.for(values)(
    'no page and no form fails because of %s, or shows it as markup',
    async ([, value], { service, request }) => {
      const faults: unknown[] = [];
      for (const route of service.pages) {
        const answer = await request(route, value).catch(() => undefined);
        if (!answer) {
          faults.push([route.method, route.path, 'broken off']);
          continue;
        }
        const { status, body, headers } = answer;
        const isFault =
          status >= 500 ||
          body.includes(SCRIPT) ||
          (headers.has('set-cookie') && route.path !== '/dashboard/logout') ||
          /^(https?:)?\/\//.test(headers.get('location') ?? '');
        if (isFault) faults.push([route.method, route.path, status, headers.get('set-cookie')]);
      }
      expect(faults).toEqual([]);
    },
  );
}

/** A test of every page with the year 0 in each of these fields alone: another value may be refused first. */
export function yearZeroDoesNoHarm(test: HostileTest, names: readonly string[]): void {
  test('no page fails because of the year 0 in one field alone', async ({ service, request }) => {
    const faults: unknown[] = [];
    const pages = service.pages.filter(
      ({ method, path }) => method === 'GET' && !path.includes('{'),
    );
    for (const route of pages) {
      for (const name of names) {
        const answer = await request(route, '0000-01-01', [name]).catch(() => undefined);
        if (!answer || answer.status >= 500) faults.push([route.path, name, answer?.status]);
      }
    }
    expect(faults).toEqual([]);
  });
}
