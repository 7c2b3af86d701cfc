import { test as base } from 'vitest';
import { adminCli } from './admin-cli.ts';
import type { OnCleanup } from './fixtures.ts';
import { once } from './fixtures.ts';
import { gatewayOf, withoutCallbacks } from './gateway.ts';
import type { MerchantOptions } from './merchant.ts';
import { ordersOf } from './orders.ts';
import type { WorkerSetup } from './restartable-worker.ts';
import { restartableWorker } from './restartable-worker.ts';
import type { TestServiceOptions } from './service.ts';
import { startTestService } from './service.ts';

/** The processes that run for the tests of a file. */
export interface ServiceTestOptions extends TestServiceOptions {
  /** The file's worker in this process. `false`: none runs until a test starts it. */
  worker?: boolean | WorkerSetup;
  /** The file's merchant, created for the first test that uses it. */
  merchant?: MerchantOptions;
  /** `false`: the gateway sends no callbacks, so only the test reports payments to an order. */
  callbacks?: boolean;
}

/**
 * The `test` of a file whose tests need the service. The service and its worker are started before
 * the first test and stopped after the last one; a file that needs more extends what this returns.
 *
 * - `service`, `worker`, `merchant`: one for the file
 * - `cli`: the operators' command line with the service's settings
 * - `orders`: the merchant's orders, brought to a status without the API
 * - `gateway`: faults at the gateway simulator, which end with the test
 */
export function serviceTest({
  worker = true,
  merchant = {},
  callbacks = true,
  ...options
}: ServiceTestOptions) {
  const startService = once(async (what: TestServiceOptions, onCleanup: OnCleanup) => {
    const service = await startTestService(what);
    onCleanup(() => service.stop());
    if (!callbacks) await withoutCallbacks(service);
    return service;
  });
  const startWorker = once(
    async (service: Awaited<ReturnType<typeof startService>>, onCleanup: OnCleanup) => {
      const restartable = restartableWorker(service, worker === true ? {} : worker || {});
      onCleanup(() => restartable.stop());
      if (worker !== false) await restartable.start();
      return restartable;
    },
  );
  const createMerchant = once((service: Awaited<ReturnType<typeof startService>>) =>
    service.newMerchant(merchant),
  );

  const test = base
    .extend('options', { scope: 'file' }, options)
    .extend('service', { scope: 'file' }, ({ options: what }, { onCleanup }) =>
      startService(what, onCleanup),
    )
    .extend('worker', { scope: 'file' }, ({ service }, { onCleanup }) =>
      startWorker(service, onCleanup),
    )
    .extend('merchant', { scope: 'file' }, ({ service }) => createMerchant(service))
    .extend('cli', { scope: 'file' }, ({ service }) => adminCli(service.env))
    .extend('orders', ({ service, merchant: owner }) => ordersOf(service, owner))
    .extend('gateway', ({ service }, { onCleanup }) => {
      const gateway = gatewayOf(service);
      onCleanup(() => gateway.endFaults());
      return gateway;
    });
  test.beforeAll(({ service, worker: running }) => void [service, running]);
  return test;
}
