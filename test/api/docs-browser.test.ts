import { expect } from 'vitest';
import { stopClock } from '../support/browser.ts';
import type { TestService } from '../support/service.ts';
import { documentationTest, expectReadable } from './docs-screens.ts';

const test = documentationTest();

interface OpenApi {
  paths: Record<string, Record<string, { operationId: string }>>;
  webhooks: Record<string, object>;
}

const readDocument = async (service: TestService) =>
  (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi;

test('/docs shows every operation and event under its own Content-Security-Policy and calls no other host', async ({
  service,
  newPhone,
}) => {
  const { page, complaints } = await newPhone();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  const answer = await page.goto(`${service.origin}/docs`);
  expect(answer?.headers()).toMatchObject({
    'content-security-policy': expect.stringMatching(/^default-src 'none'/),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
  const { paths, webhooks } = await readDocument(service);
  const operationIds = Object.values(paths).flatMap((path) =>
    Object.values(path).flatMap(({ operationId }) => operationId ?? []),
  );
  const events = Object.keys(webhooks).map((event) => `event-${event}`);
  expect(operationIds.length).toBeGreaterThan(10);
  for (const id of [...operationIds, ...events, 'object-Order']) {
    expect([id, await page.locator(`nav a[href="#${id}"]`).count()]).toEqual([id, 1]);
    expect([id, await page.locator(`#${id} h3`).isVisible()]).toEqual([id, true]);
  }
  expect(new Set(asked.filter((origin) => origin !== 'null'))).toEqual(new Set([service.origin]));
  expect(complaints).toEqual([]);
});

test('/docs explains to a new developer how to begin, the errors, and the rules of webhooks', async ({
  service,
  newPhone,
}) => {
  const { page } = await newPhone();
  await page.goto(`${service.origin}/docs`);
  const text = await page.locator('main').innerText();
  for (const words of [
    `BASE=${service.origin}/sandbox/api/merchant/v1`,
    'more than 300 seconds',
    'constant time',
    'store each event_id',
    'must be greater than or equal to 5.0',
    'Cannot mark as delivered; order must be in PAID status',
  ]) {
    expect(text).toContain(words);
  }
  expect(text).toMatch(/1\s+none\s+2\s+5 minutes\s+3\s+30 minutes\s+4\s+2 hours\s+5\s+12 hours/);
});

test('/docs shows one language in all examples, and remembers it', async ({
  service,
  newPhone,
}) => {
  const { page, complaints } = await newPhone();
  await page.goto(`${service.origin}/docs`);
  const sample = page.locator('#deliverOrder .samples');
  const text = () => sample.locator('figure:visible pre').allInnerTexts();
  expect(await text()).toEqual([expect.stringContaining('curl "$BASE/orders/')]);
  await sample.getByRole('tab', { name: 'Python' }).click();
  expect(await text()).toEqual([expect.stringContaining('client.orders.deliver(')]);
  await page.reload();
  expect(await text()).toEqual([expect.stringContaining('tracking_id=')]);
  await sample.getByRole('tab', { name: 'Python' }).press('ArrowRight');
  expect(await text()).toEqual([expect.stringContaining('client.Orders.Deliver(ctx')]);
  expect(complaints).toEqual([]);
});

test('/docs is searched, and its examples are copied', async ({ service, newPhone }) => {
  const { page, complaints } = await newPhone();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await stopClock(page);
  await page.goto(`${service.origin}/docs`);
  const visible = page.locator('nav li:visible');
  await page.locator('nav summary').click();
  const all = await visible.count();
  await page.getByLabel('Search').fill('chargeback reversed_amount');
  expect(await visible.allInnerTexts()).toContain('Values');
  expect(await visible.count()).toBeLessThan(all);
  await page.getByLabel('Search').fill('');
  expect(await visible.count()).toBe(all);
  const block = page.locator('#guide-quick-start pre').first();
  await page.locator('#guide-quick-start button.copy').first().click();
  await page.getByText('Copied').waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await block.textContent());
  expect(complaints).toEqual([]);
});

test('/docs marks in its contents what is read', async ({ service, newPhone }) => {
  const { page } = await newPhone({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${service.origin}/docs`);
  const marked = page.locator('nav li [aria-current]');
  for (const name of ['Create an order', 'Errors', 'DisputeDecision']) {
    await page.locator('nav li').getByRole('link', { name, exact: true }).click();
    await marked.filter({ hasText: name }).waitFor();
    expect(await marked.allInnerTexts()).toEqual([name]);
  }
});

test('/docs without a script has the guide, and every language of each example', async ({
  service,
  newPhone,
}) => {
  const { page } = await newPhone({ javaScriptEnabled: false });
  await page.goto(`${service.origin}/docs`);
  const captions = page.locator('#deliverOrder .samples figcaption:visible');
  expect(await captions.allInnerTexts()).toEqual(['curl', 'Node', 'Python', 'Go']);
  expect(await page.locator('#guide-going-live').innerText()).toContain(
    'Generate the production key',
  );
  expect(await page.locator('#search').isVisible()).toBe(false);
});

test('/docs in the dark on a phone is accessible to axe-core and not wider than the screen', async ({
  service,
  newPhone,
}) => {
  const viewport = { width: 360, height: 740 };
  await expectReadable(`${service.origin}/docs`, newPhone, { colorScheme: 'dark', viewport });
});
