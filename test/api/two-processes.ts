import type { ApiClient } from '../support/api-client.ts';
import { startApiProcess } from '../support/api-process.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { serviceTest } from '../support/service-test.ts';

export type StepsOf = (orderNumber: string) => Promise<string[]>;

/** The `test` of a file whose service has two API processes: this process and a separate one. */
export const twoProcessTest = () =>
  serviceTest({ time: 'real', merchant: { webhooks: false } })
    .extend('second', { scope: 'file' }, ({ service }, { onCleanup }) =>
      stoppedAtEnd(startApiProcess(service), onCleanup),
    )
    // The merchant's client of this process, and one for each of the two.
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
    });
