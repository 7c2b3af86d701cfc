import { setTimeout as delay } from 'node:timers/promises';
import { createMerchantClient } from '../load/client.ts';
import { create, send } from '../load/commands.ts';
import type { LoadMerchant } from '../load/merchant.ts';
import { newLoadOrder, type LoadDeps } from '../load/order.ts';

const AMOUNT_PAISE = 49_950;
const AGAIN_AFTER_MS = 250;
const GIVEN_UP_AFTER_MS = 180_000;

/** Makes orders until one was created, paid and delivered with only 2xx, each request sent once. */
export async function untilServed(
  deps: LoadDeps,
  merchant: LoadMerchant,
  apiBaseUrl: string,
): Promise<'served' | 'not served'> {
  const client = createMerchantClient(apiBaseUrl, merchant.keys, { repeatedForMs: 0 });
  const isServed = async () => {
    const order = newLoadOrder(deps, { ...merchant, client }, AMOUNT_PAISE);
    await create(order);
    const answers = [await send(order, 'pay'), await send(order, 'deliver')];
    return answers.every(({ status }) => status === 200);
  };
  const endsAt = performance.now() + GIVEN_UP_AFTER_MS;
  while (performance.now() < endsAt) {
    // What is not answered is not remembered: it may have happened or not.
    if (await isServed().catch(() => false)) return 'served';
    await delay(AGAIN_AFTER_MS);
  }
  return 'not served';
}
