import { expect } from 'vitest';
import { phonesOf, violationsOf } from '../support/browser.ts';
import { serviceTest } from '../support/service-test.ts';

export interface Screen {
  colorScheme: 'light' | 'dark';
  viewport: { width: number; height: number };
}

/** Checks that the page is accessible, and fits on the screen. */
export async function expectReadable(
  url: string,
  newPhone: ReturnType<typeof phonesOf>,
  screen: Screen,
): Promise<void> {
  const { page } = await newPhone(screen);
  await page.goto(url);
  const [background = 0] = await page.evaluate<number[]>(
    'getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)',
  );
  expect(background < 128 ? 'dark' : 'light').toBe(screen.colorScheme);
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
}

export const documentationTest = () =>
  serviceTest({ time: 'real', worker: false }).extend(
    'newPhone',
    ({ service: _service }, { onCleanup }) => phonesOf(onCleanup),
  );
