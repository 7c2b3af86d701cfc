import { describe, expect } from 'vitest';
import { harnessTest } from '../gateway-harness.ts';

const test = harnessTest();

async function submit(pageUrl: string, fields: Record<string, string>): Promise<string> {
  const response = await fetch(pageUrl, { method: 'POST', body: new URLSearchParams(fields) });
  expect(response.redirected).toBe(true);
  expect(response.url).toBe(pageUrl);
  return response.text();
}

describe('the page that stands for the UPI app', () => {
  test('shows amount and description, and allows only its own style', async ({ harness }) => {
    const { pageUrl } = await harness.openSession();
    const response = await fetch(pageUrl);
    const html = await response.text();
    expect(html).toContain('₹100.00');
    expect(html).toContain('Two &lt;b&gt;lamps&lt;/b&gt; &amp; a table');
    expect(html).toContain('Waiting for payment');
    expect(html).not.toMatch(/<script|<style| style=| on[a-z]+=/);
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    const style = await fetch(new URL('/upi/style.css', pageUrl));
    expect(style.headers.get('content-type')).toContain('text/css');
  });

  test('makes a payment from any other UPI address too, and escapes it', async ({ harness }) => {
    const { pageUrl } = await harness.openSession();
    const html = await submit(pageUrl, { action: 'pay', vpa: '<i>me@bank' });
    expect(html).toContain('₹100.00 from &lt;i&gt;me@bank: paid');
  });

  test.for([
    { action: 'pay', vpa: 'failure@razorpay' },
    { action: 'fail', vpa: 'success@razorpay' },
  ])('fails with %o, and lets the buyer try again', async (fields, { harness }) => {
    const { pageUrl } = await harness.openSession();
    const html = await submit(pageUrl, fields);
    expect(html).toContain(': failed');
    expect(html).toContain('<form');
    expect(await submit(pageUrl, { action: 'pay', vpa: '' })).toContain('Paid');
  });

  test('lets the QR code expire', async ({ harness }) => {
    const { pageUrl, gatewaySessionId } = await harness.openSession();
    expect(await submit(pageUrl, { action: 'expire' })).toContain('Expired');
    expect((await harness.gateway.fetchSession(gatewaySessionId)).state).toBe('closed');
  });

  test('takes no second payment', async ({ harness }) => {
    const { pageUrl, gatewaySessionId } = await harness.openSession();
    const pay = () => submit(pageUrl, { action: 'pay' });
    const pages = await Promise.all([pay(), pay(), pay()]);
    expect(pages.every((html) => html.includes('Paid'))).toBe(true);
    expect(await harness.gateway.listSessionPayments(gatewaySessionId)).toHaveLength(1);
  });

  test('says that the merchant has closed the QR code', async ({ harness }) => {
    const { pageUrl, gatewaySessionId } = await harness.openSession();
    await harness.gateway.closeSession(gatewaySessionId);
    expect(await (await fetch(pageUrl)).text()).toContain('Closed by the merchant');
  });
});
