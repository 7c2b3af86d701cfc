import { expect } from 'vitest';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import { sendCurl } from '../support/curl.ts';
import { until } from '../support/until.ts';
import { journeyTest } from './journey-test.ts';
import type { Person } from './person.ts';
import type { Variant } from './variants.ts';

/** From the first page to a first request with the documentation's example, on each of these screens. */
export function developer(variants: readonly Variant[]): void {
  const test = journeyTest({ merchant: { webhooks: false } });

  test.for(variants)(
    'a developer finds an operation in the documentation, sends its example and gets an order: $title',
    async (variant, { service, merchant, newPerson }) => {
      const person = await newPerson(variant);
      const { page } = person;
      await page.goto('/');
      await person.sees('Paid by UPI. Held until it is delivered.');
      expect(Object.keys(await readFile(person, 'OpenAPI document'))).toContain('openapi');
      expect(Object.keys(await readFile(person, 'Postman collection'))).toContain('item');

      await person.follow('Guide and API reference');
      await person.sees('Guide and API reference');
      await readDocumentation(person);
      const { apiKey, apiSecret } = merchant.keys.sandbox;
      const created = await sendCurl(await takeExample(person, 'createOrder'), {
        BASE: service.origin + BASE_PATHS.sandbox,
        KEY: apiKey,
        SECRET: apiSecret,
      });
      expect(created.status).toBe(201);

      await page.goto('/docs/orders');
      await person.sees('Not found', 404);
      await person.follow('To the start page');
      await person.sees('Paid by UPI. Held until it is delivered.');
    },
  );
}

async function readFile({ page }: Person, name: string): Promise<object> {
  const path = await page.getByRole('link', { name, exact: true }).getAttribute('href');
  const response = await fetch(new URL(path ?? '', page.url()));
  return (await response.json()) as object;
}

/** Goes to a chapter and to an operation; the search, which needs JavaScript, leaves fewer entries. */
async function readDocumentation(person: Person): Promise<void> {
  const { page, variant } = person;
  const contents = page.getByRole('navigation', { name: 'Contents' });
  // On a phone the script closes the contents.
  const isClosed = variant.javaScriptEnabled && variant.viewport.width < 1024;
  if (isClosed) {
    await contents.locator('details:not([open])').waitFor();
    await contents.getByText('Contents', { exact: true }).click();
  }
  await person.follow('Quick start', contents);
  await page.waitForURL('**/docs#guide-quick-start');
  await page.getByRole('heading', { name: 'Quick start' }).waitFor();
  if (variant.javaScriptEnabled) {
    await person.types({ Search: 'idempotency-key shop-1042-create' });
    await contents.getByRole('link', { name: 'Errors', exact: true }).waitFor({ state: 'hidden' });
  }
  await person.follow('Create an order', contents);
  await page.waitForURL('**/docs#createOrder');
}

/** The command line of an operation: copied with JavaScript, else read. */
async function takeExample({ page, context, variant }: Person, operationId: string) {
  const samples = page.locator(`#${operationId} .samples`);
  const example = samples
    .locator('figure')
    .filter({ has: page.locator('pre:visible') })
    .first();
  if (!variant.javaScriptEnabled) return example.locator('pre').innerText();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate("navigator.clipboard.writeText('')");
  await example.getByRole('button', { name: 'Copy' }).click();
  // The button says so for only two seconds.
  return until(() => page.evaluate<string>('navigator.clipboard.readText()'));
}
