import { expect } from 'vitest';
import { until } from '../support/until.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

test('the first page leads to the log-in and the documentation, and says whether the service works', async ({
  visitor,
  owner,
}) => {
  // It waits 2 s for the database and for Temporal.
  const { status, body } = await until(async () => {
    const page = await visitor.get('/');
    return page.body.match(/Works/g)?.length === 2 && page;
  });
  expect(status).toBe(200);
  for (const path of ['/dashboard/login', '/dashboard/sign-up', '/docs']) {
    expect(body).toContain(`href="${path}"`);
  }
  expect((await owner.get('/')).body).toContain('href="/dashboard"');
});

test('a browser gets a page for an address that does not exist, and a client gets JSON', async ({
  service,
}) => {
  const of = async (accept: string, path = '/nowhere') => {
    const response = await fetch(service.origin + path, { headers: { Accept: accept } });
    return [response.status, response.headers.get('content-type'), await response.text()];
  };
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const json = [404, 'application/json; charset=utf-8', expect.stringContaining('{')];
  expect(await of(browser)).toEqual([
    404,
    'text/html; charset=utf-8',
    expect.stringContaining('There is nothing at this address'),
  ]);
  expect(await of('*/*')).toEqual(json);
  expect(await of('application/json')).toEqual(json);
  expect((await of(browser, '/sandbox/api/merchant/v1/nowhere'))[1]).toBe(json[1]);
});

test('pages and their files are sent compressed, and the API is not', async ({
  service,
  merchant,
  visitor,
}) => {
  const encodingOf = async (path: string, headers = {}) => {
    const response = await fetch(service.origin + path, {
      headers: { 'Accept-Encoding': 'gzip', ...headers },
    });
    await response.body?.cancel();
    return response.headers.get('content-encoding');
  };
  const { body } = await visitor.get('/');
  const style = /href="([^"]+\.css)"/.exec(body)?.[1] ?? '';
  expect(await encodingOf('/')).toBe('gzip');
  expect(await encodingOf(style)).toBe('gzip');
  expect(await encodingOf('/docs')).toBe('gzip');
  const { keys: pairs } = merchant;
  const keys = {
    'X-API-Key': pairs.sandbox.apiKey,
    'X-API-Secret': pairs.sandbox.apiSecret,
  };
  expect(await encodingOf('/sandbox/api/merchant/v1/orders', keys)).toBeNull();
});
