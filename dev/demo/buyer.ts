/**
 * Pays on the payment page as a browser without JavaScript does, with forms and links only.
 *
 * @throws Error when a page does not respond with 2xx or offers no sandbox UPI app
 */
export async function payAsBuyer(paymentUrl: string, signal: AbortSignal): Promise<void> {
  await fetchPage(paymentUrl, { signal });
  const page = await postForm(`${paymentUrl}/sessions`, {}, signal);
  const upiApp = [...page.matchAll(/href="(http[^"]+)"/g)]
    .map(([, url = '']) => url)
    .find((url) => url.includes('/upi/'));
  if (upiApp === undefined) throw new Error('The payment page offers no sandbox UPI app');
  await fetchPage(upiApp, { signal });
  await postForm(upiApp, { action: 'pay', vpa: 'success@razorpay' }, signal);
}

async function postForm(url: string, fields: Record<string, string>, signal: AbortSignal) {
  const { origin } = new URL(url);
  const body = new URLSearchParams(fields);
  return fetchPage(url, { method: 'POST', body, headers: { origin }, signal });
}

async function fetchPage(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return text;
}
