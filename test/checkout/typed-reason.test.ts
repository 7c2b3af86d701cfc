import { expect } from 'vitest';
import { EN } from '../../src/checkout/texts/en.ts';
import { HI } from '../../src/checkout/texts/hi.ts';
import { refusingServer, writeForm } from '../dashboard/refusing-server.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

const REASON = 'The sari has a hole, and it is blue';
const TYPE = 'application/x-www-form-urlencoded';

/** The only text that a buyer types is the reason of a dispute; the button that pays sends nothing. */
test.for([EN, HI])(
  "a buyer's reason is in every page that comes back, with what was not sent: $language",
  async (texts, { service, merchant }) => {
    expect(
      service.ofBuyers.filter(({ method }) => method === 'POST').map(({ path }) => path),
    ).toEqual(['/pay/{token}/sessions', '/pay/{token}/dispute']);
    const { payment_url: paymentUrl } = await merchant.sandbox.create();
    const query = `?language=${texts.language}`;
    const path = `${new URL(paymentUrl).pathname}/dispute${query}`;
    const body = new URLSearchParams({ reason: REASON }).toString();
    const form = { path, cookie: '', type: TYPE, body };
    const port = Number(new URL(service.origin).port);
    const limited = await refusingServer(service.ofBuyers, true);
    const slow = await refusingServer(service.ofBuyers, false);
    const filler = `&filler=${'x'.repeat(33 * 1024)}`;
    const pages = {
      'refused by the state': [400, await writeForm(port, form)],
      'not valid': [400, await writeForm(port, { ...form, body: `${body}${'x'.repeat(3000)}` })],
      'from another site': [403, await writeForm(port, { ...form, site: 'cross-site' })],
      'too slow': [408, await writeForm(slow.port, { ...form, missingBytes: 1000 })],
      'too large': [413, await writeForm(port, { ...form, body: body + filler })],
      'one too many': [429, await writeForm(limited.port, form)],
    } as const;
    await Promise.all([limited.stop(), slow.stop()]);
    for (const [way, [expected, page]] of Object.entries(pages)) {
      const said = page.body.includes(texts.disputes.unsent);
      expect([way, page.status, page.body.includes(REASON), said]).toEqual([
        way,
        expected,
        true,
        true,
      ]);
    }
  },
);
