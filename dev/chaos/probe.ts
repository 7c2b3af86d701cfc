import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { StepKind } from '../../src/domain/index.ts';
import type { Memory, AcknowledgedOrder } from '../load/memory.ts';
import type { MerchantClient } from '../load/client.ts';
import type { LoadMerchant } from '../load/merchant.ts';

const AGAIN_AFTER_MS = 250;
const GIVEN_UP_AFTER_MS = 180_000;

/** What follows the creation of a probe order. */
const CALLS = [
  { operation: 'pay', path: '/test-helpers/orders', step: 'PAYMENT_SUCCESS' },
  { operation: 'deliver', path: '/orders', step: 'DELIVERY_CONFIRMED' },
] as const satisfies { operation: string; path: string; step: StepKind }[];

/** Makes orders until one was created, paid and delivered with only 2xx. */
export async function untilServed(
  { merchantId, client }: LoadMerchant,
  acknowledged: Memory,
): Promise<'served' | 'not served'> {
  const endsAt = performance.now() + GIVEN_UP_AFTER_MS;
  while (performance.now() < endsAt) {
    const memory: AcknowledgedOrder = {
      merchantId,
      idempotencyKey: randomUUID(),
      orderNumbers: new Set(),
      commands: [],
    };
    acknowledged.orders.push(memory);
    if (await isServed(client, memory).catch(() => false)) return 'served';
    await delay(AGAIN_AFTER_MS);
  }
  return 'not served';
}

/** Sends each request once. What is not answered is not remembered: it may have happened or not. */
async function isServed(client: MerchantClient, memory: AcknowledgedOrder): Promise<boolean> {
  const { status, data } = await client.send({
    method: 'POST',
    path: '/orders',
    idempotencyKey: memory.idempotencyKey,
    body: {
      amount: 499.5,
      buyerEmail: 'asha@example.com',
      buyerPhone: '+919876543210',
      description: 'Probe',
    },
  });
  if (status !== 201 || data === null) return false;
  memory.orderNumbers.add(data.order_number);
  for (const { operation, path, step } of CALLS) {
    const idempotencyKey = randomUUID();
    const answer = await client.send({
      method: 'POST',
      path: `${path}/${data.order_number}/${operation}`,
      idempotencyKey,
    });
    if (answer.status !== 200) return false;
    memory.commands.push({
      operation,
      idempotencyKey,
      step,
      result: 'carried out',
      atMs: Date.now(),
    });
  }
  return true;
}
