import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { clickInMenu } from '../dashboard/menu.ts';
import { until } from '../support/until.ts';
import type { phonesOf } from '../support/browser.ts';
import { violationsOf } from '../support/browser.ts';
import type { Variant } from './variants.ts';

type Phone = Awaited<ReturnType<ReturnType<typeof phonesOf>>>;

/** A person in front of a browser, and what they do there. */
export function personWith({ page, context, complaints }: Phone, variant: Variant) {
  /** Checks the page that is shown. axe needs JavaScript. @param refusal the status that the console names */
  async function checkPage(refusal?: number): Promise<void> {
    const look = async () => ({
      title: await page.title(),
      // The dialog above a page has a heading of its own.
      headings: await page.locator('h1:not(dialog h1)').count(),
      overflow: await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
      violations: variant.javaScriptEnabled ? await violationsOf(page) : [],
      complaints: complaints.splice(0).filter((text) => !text.includes(`status of ${refusal}`)),
    });
    // A page that is kept current may reload itself meanwhile: then it is looked at again.
    const found = await until(() =>
      look().catch((error: Error) => {
        if (!/context was destroyed|because of a navigation/.test(error.message)) throw error;
      }),
    );
    const title: unknown = expect.any(String);
    expect(found).toEqual({ title, headings: 1, overflow: 0, violations: [], complaints: [] });
  }

  return {
    page,
    context,
    variant,
    /** Waits for the page with this heading, and checks it. @param refusal its status, if it is a refusal */
    async sees(heading: string | RegExp, refusal?: number): Promise<void> {
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await checkPage(refusal);
    },
    /** Waits for words of a page, and checks it. */
    async reads(words: string | RegExp): Promise<void> {
      await page.getByText(words).first().waitFor();
      await checkPage();
    },
    /** Waits for the question before money moves, which shows all of this, checks it and answers it. */
    async answers(title: string, shown: readonly string[], answer: string): Promise<void> {
      // A dialog with JavaScript, else a page.
      const place = variant.javaScriptEnabled ? page.getByRole('dialog', { name: title }) : page;
      const question = place.getByRole('region', { name: title });
      await question.getByText('This cannot be undone.').waitFor();
      for (const text of shown) await question.getByText(text).first().waitFor();
      await checkPage();
      const isLink = answer === 'Go back';
      await question.getByRole(isLink ? 'link' : 'button', { name: answer, exact: true }).click();
    },
    press: (name: string, within: Page | Locator = page) =>
      within.getByRole('button', { name, exact: true }).click(),
    follow: (name: string, within: Page | Locator = page) =>
      within.getByRole('link', { name, exact: true }).click(),
    /** A page of the menu whose webhooks fail says so behind its name. */
    async goTo(name: string): Promise<void> {
      const navigation = page.getByRole('navigation', { name: 'Main' });
      const link = navigation.getByRole('link', {
        name: new RegExp(`^${name}( need attention)?$`),
      });
      await clickInMenu(page, link);
    },
    async logOut(): Promise<void> {
      await clickInMenu(page, page.getByRole('button', { name: 'Log out' }));
    },
    async types(
      fields: Readonly<Record<string, string>>,
      within: Page | Locator = page,
    ): Promise<void> {
      for (const [label, value] of Object.entries(fields)) {
        await within.getByLabel(label, { exact: true }).fill(value);
      }
    },
    /** Waits until an order, or a webhook, has a status, by the API's word. */
    status: (word: string) => page.locator(`h1 .tag[title=${word}]`).waitFor(),
  };
}

export type Person = ReturnType<typeof personWith>;
