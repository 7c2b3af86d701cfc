import type { BrowserContextOptions } from 'playwright-core';
import { expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import { phonesOf, violationsOf } from '../support/browser.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import { merchantUser } from '../support/users.ts';
import type { Screen } from './screens.ts';

export const ordersTest = () =>
  serviceTest({ time: 'real' })
    .extend('cookie', { scope: 'file' }, async ({ service, merchant }) => {
      const { cookie } = await merchantUser(service.sql, merchant.merchantId);
      const [name = '', value = ''] = cookie.split('=');
      // Browsers take an address of the machine itself for a secure origin.
      return { name, value, domain: '127.0.0.1', path: '/', secure: true };
    })
    .extend('newPhone', ({ cookie }, { onCleanup }) => {
      const newPhone = phonesOf(onCleanup);
      return async (options?: BrowserContextOptions) => {
        const phone = await newPhone(options);
        await phone.context.addCookies([cookie]);
        return phone;
      };
    });

async function disputedOrder({ sandbox }: Merchant, merchantOrderId: string): Promise<Order> {
  const order = await sandbox.create({ merchantOrderId });
  await sandbox.help(order, 'pay');
  await sandbox.help(order, 'dispute', { reason: 'It never arrived at all' });
  return order;
}

export function ordersOn(test: ReturnType<typeof ordersTest>, screens: readonly Screen[]): void {
  test.for(screens)(
    'home, orders, an order with its forms open, and disputes: accessible, no wider than the screen: $colorScheme, $viewport.width pixels wide',
    async (screen, { service, merchant, newPhone }) => {
      const { colorScheme, viewport } = screen;
      const order = await disputedOrder(merchant, `SHOP-1-${colorScheme}-${viewport.width}`);
      await disputedOrder(merchant, `SHOP-2-${colorScheme}-${viewport.width}`);
      await merchant.sandbox.create({ description: 'x'.repeat(500) });
      const { page, complaints } = await newPhone(screen);
      for (const below of ['', '/orders', `/orders/${order.order_number}`, '/disputes']) {
        await page.goto(`${service.origin}/dashboard/sandbox${below}`);
        await page.evaluate(
          'document.querySelectorAll("details").forEach((one) => (one.open = true))',
        );
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        const found = { below, overflow, violations: await violationsOf(page) };
        expect(found).toEqual({ below, overflow: 0, violations: [] });
      }
      expect(complaints).toEqual([]);
    },
  );
}
