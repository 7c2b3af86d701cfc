import { SESSION_COOKIE } from '../../src/accounts/public.ts';
import { phonesOf } from '../support/browser.ts';
import { serviceTest, type ServiceTestOptions } from '../support/service-test.ts';
import type { TestUser } from '../support/users.ts';
import { personWith } from './person.ts';
import type { Variant } from './variants.ts';

/**
 * The `test` of a journey: {@link serviceTest} with people, who look at its pages. `newPerson` is one with a browser of
 * their own, who is signed in if a user is given.
 */
export function journeyTest(options: Partial<ServiceTestOptions> = {}) {
  return serviceTest({ time: 'real', ...options }).extend(
    'newPerson',
    ({ service }, { onCleanup }) => {
      const newPhone = phonesOf(onCleanup);
      return async (variant: Variant, user?: TestUser) => {
        const { javaScriptEnabled, colorScheme, viewport } = variant;
        const phone = await newPhone({
          javaScriptEnabled,
          colorScheme,
          viewport,
          baseURL: service.origin,
        });
        if (user) {
          const value = user.cookie.slice(SESSION_COOKIE.length + 1);
          const url = service.origin.replace('http:', 'https:');
          await phone.context.addCookies([
            { name: SESSION_COOKIE, value, url, sameSite: 'Strict' },
          ]);
        }
        return personWith(phone, variant);
      };
    },
  );
}
