import { expect, inject } from 'vitest';
import { journeyTest } from './journey-test.ts';
import { until } from '../support/until.ts';
import { refusedRefund } from './refused-refund.ts';
import type { Variant } from './variants.ts';

/** From the terminal to Temporal's Web UI, which needs JavaScript, on each of these screens. */
export function operatorsTerminal(variants: readonly Variant[]): void {
  const test = journeyTest({ settings: { TEMPORAL_UI_URL: inject('temporalUiUrl') } });

  test.for(variants)(
    'an operator finds in the terminal what waits, and sees in the Temporal UI what its workflow waits for: $title',
    async (variant, { service, merchant, cli, newPerson }) => {
      const { order } = await refusedRefund(service, merchant);
      const { order_number: number } = order;
      expect((await cli.run('alert', 'list')).stdout).toContain(number);
      // Temporal has the error a moment after its alert is written.
      let link: string | undefined;
      await until(async () => {
        const { stdout } = await cli.run('order', 'show', '--order', number);
        [link] = /http\S+\/workflows\/\S+/.exec(stdout) ?? [];
        return stdout.includes('Refund is not supported by the bank') && link !== undefined;
      });

      const { page } = await newPerson(variant);
      await page.goto(link ?? '');
      await page.getByRole('heading', { name: number }).waitFor();
      await page.getByText('Refund the buyer').first().waitFor();
      await page.getByText('User Metadata').first().click();
      // The UI renders their Markdown in frames: the summary, the details, and what it waits for now.
      const shows = (frame: number, text: string) =>
        page.locator('iframe').nth(frame).contentFrame().getByText(text).waitFor();
      await shows(0, `INR 499.50 · sandbox · ${merchant.merchantId}`);
      await shows(1, 'One payment order.');
      await shows(2, 'PAID · Refunding the buyer at the gateway.');
    },
  );
}
