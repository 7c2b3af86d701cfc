import type { ApiClient } from '../support/api-client.ts';
import type { ApiInstance } from '../support/api-instance.ts';
import { startApiInstance } from '../support/api-instance.ts';
import { startApiProcess } from '../support/api-process.ts';
import { once, stoppedAtEnd } from '../support/fixtures.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

export type StepsOf = (orderNumber: string) => Promise<string[]>;

type StartSecond = (service: TestService) => Promise<Pick<ApiInstance, 'as' | 'stop'>>;

function testWith(start: StartSecond) {
  const startOnce = once(start);
  return (
    serviceTest({ time: 'real', merchant: { webhooks: false } })
      .extend('second', { scope: 'file' }, ({ service }, { onCleanup }) =>
        stoppedAtEnd(startOnce(service), onCleanup),
      )
      // The merchant's client of the service's own API, and one for each of the two.
      .extend('api', { scope: 'file' }, ({ merchant }) => merchant.sandbox)
      .extend(
        'both',
        { scope: 'file' },
        ({ merchant, api, second }): readonly [ApiClient, ApiClient] => [
          api,
          second.as(merchant.keys),
        ],
      )
      // The kinds of an order's steps so far.
      .extend('stepsOf', { scope: 'file' }, ({ service }): StepsOf => {
        return async (orderNumber) => {
          const rows = await service.sql<{ kind: string }[]>`
          SELECT kind FROM order_steps WHERE order_number = ${orderNumber} ORDER BY step_number`;
          return rows.map(({ kind }) => kind);
        };
      })
  );
}

/** The `test` of a file whose service has two APIs in this process. */
export const twoApiTest = () => testWith((service) => startApiInstance(service));

/** The `test` of a file whose service has two API processes: this process and a separate one. */
export const twoProcessTest = () => testWith((service) => startApiProcess(service));
