import type { OperatorRole } from '../../src/accounts/public.ts';
import { serviceTest, type ServiceTestOptions } from '../support/service-test.ts';
import { merchantUser, operatorUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';

/**
 * The `test` of a file about pages: {@link serviceTest} with browsers.
 *
 * - `owner`: the browser of the user of the file's merchant
 * - `operators.support`, `.finance`, `.admin`: the browser of an operator with each role; `.otherAdmin` approves what
 *   the admin proposes
 * - `visitor`: a browser without a session
 */
export function dashboardTest(options: ServiceTestOptions) {
  return serviceTest(options)
    .extend('visitor', { scope: 'file' }, ({ service }) => browserOf(service.origin))
    .extend('owner', { scope: 'file' }, async ({ service, merchant }) =>
      browserOf(service.origin, await merchantUser(service.sql, merchant.merchantId)),
    )
    .extend('operators', { scope: 'file' }, async ({ service }) => {
      const browserWith = async (role: OperatorRole) =>
        browserOf(service.origin, await operatorUser(service.sql, role));
      return {
        support: await browserWith('support'),
        finance: await browserWith('finance'),
        admin: await browserWith('admin'),
        otherAdmin: await browserWith('admin'),
      };
    });
}
