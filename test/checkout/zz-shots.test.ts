import { afterAll, beforeAll, test } from 'vitest';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import type { TestBrowser } from './browser.ts';
import { launchBrowser, violationsOf } from './browser.ts';
import { stageOf, VARIANTS, WAYS } from './states.ts';

let service: TestService;
let worker: any;
let browser: TestBrowser;
beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  worker = await service.startWorker();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await worker?.stop();
  await service?.stop();
});

test('shots', async () => {
  for (const [name, way] of Object.entries({ ...WAYS, ...VARIANTS })) {
    try {
      const merchant = await service.newMerchant();
      const stage = await stageOf(service, merchant, way, { merchantOrderId: 'SHOP-1042' });
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page, context, complaints } = await browser.newPhone({ colorScheme });
        await page.goto(stage.order.payment_url);
        console.log(
          name,
          colorScheme,
          complaints,
          await violationsOf(page),
          (await page.content()).length,
        );
        await page.screenshot({ path: `/tmp/shots/${name}-${colorScheme}.png`, fullPage: true });
        await context.close();
      }
    } catch (e) {
      console.log(name, e);
    }
  }
}, 600000);
