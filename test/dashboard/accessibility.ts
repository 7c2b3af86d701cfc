import { expect } from 'vitest';
import { SESSION_COOKIE } from '../../src/accounts/public.ts';
import { phonesOf, violationsOf } from '../support/browser.ts';
import type { TestUser } from '../support/users.ts';
import { merchantUser, operatorUser } from '../support/users.ts';
import { allPagesTest } from './all-pages.ts';
import { PATTERNS_PATH, patternsHtml } from './patterns.ts';
import type { Screen } from './screens.ts';

/** Routes that return no HTML page, or redirect. */
const NO_PAGE =
  /\.csv$|\/version$|\/documents\/\{document\}$|^\/dashboard$|\{token\}$|\/login\/code$/;

export function everyPageOn(screens: readonly Screen[]): void {
  const test = allPagesTest()
    .extend('person', { scope: 'file' }, ({ service, merchant }) =>
      merchantUser(service.sql, merchant.merchantId),
    )
    .extend('newPhone', ({ service: _service }, { onCleanup }) => phonesOf(onCleanup));

  test.for(screens)(
    'every page, and every component in every state, in $colorScheme, $viewport.width pixels wide: no accessibility violation, nothing too wide, one heading, no console error',
    async (screen, { service, person, pages, newPhone }) => {
      const operator = await operatorUser(service.sql, 'admin');
      const phoneOf = async (user?: TestUser) => {
        const phone = await newPhone({ ...screen, baseURL: service.origin });
        if (user) {
          const value = user.cookie.slice(SESSION_COOKIE.length + 1);
          const url = service.origin.replace('http:', 'https:');
          await phone.context.addCookies([
            { name: SESSION_COOKIE, value, url, sameSite: 'Strict' },
          ]);
        }
        return phone;
      };
      const phones = {
        anyone: await phoneOf(),
        merchant: await phoneOf(person),
        operator: await phoneOf(operator),
      };
      const shown = pages
        .filter(({ route }) => route.method === 'GET' && !NO_PAGE.test(route.path))
        // Production pages differ only in their texts.
        .filter(({ route }) => !/^\/dashboard\/production\/./.test(route.path));
      expect(shown.length).toBeGreaterThan(40);
      const found: unknown[] = [];
      await phones.anyone.context.route(`**${PATTERNS_PATH}`, (route) =>
        route.fulfill({ contentType: 'text/html', body: patternsHtml() }),
      );
      const patterns = { url: PATTERNS_PATH, kind: 'anyone' } as const;
      for (const { url, kind } of [...shown, patterns]) {
        const { page } = phones[kind];
        const response = await page.goto(url);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        const headings = await page.getByRole('heading', { level: 1 }).count();
        found.push([url, response?.status(), headings, overflow, await violationsOf(page)]);
      }
      expect(found).toEqual([...shown, patterns].map(({ url }) => [url, 200, 1, 0, []]));
      expect(Object.values(phones).flatMap(({ complaints }) => complaints)).toEqual([]);
    },
  );
}
