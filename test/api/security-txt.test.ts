import { expect } from 'vitest';
import { securityTxtRoutes } from '../../src/http/server/security-txt.ts';
import { serviceTest } from '../support/service-test.ts';
import { serve } from './http-support.ts';

const PATH = '/.well-known/security.txt';
const DAY_MS = 24 * 60 * 60_000;

const test = serviceTest({
  time: 'real',
  worker: false,
  settings: {
    PUBLIC_BASE_URL: 'https://pay.example.com',
    SECURITY_CONTACT: 'mailto:security@example.com',
    SECURITY_POLICY_URL: 'https://pay.example.com/security-policy',
  },
});

test('security.txt says where to report a vulnerability, and is valid for less than a year', async ({
  service,
}) => {
  const response = await fetch(service.origin + PATH);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const body = await response.text();
  const [, expires = ''] = /^Expires: (.*)$/m.exec(body) ?? [];
  expect(body).toBe(
    `${[
      'Contact: mailto:security@example.com',
      `Expires: ${expires}`,
      'Preferred-Languages: en',
      'Canonical: https://pay.example.com/.well-known/security.txt',
      'Policy: https://pay.example.com/security-policy',
    ].join('\n')}\n`,
  );
  const validForDays = (Date.parse(expires) - Date.now()) / DAY_MS;
  expect(validForDays).toBeGreaterThan(30);
  expect(validForDays).toBeLessThan(365);
});

test('without a contact there is no security.txt: its path is unknown', async () => {
  const nothing = { contact: undefined, policyUrl: undefined, publicBaseUrl: 'http://127.0.0.1' };
  await using server = await serve({ routes: securityTxtRoutes(nothing) });
  const answer = await server.call(PATH);
  expect(answer.status).toBe(404);
  const { timestamp: _, ...body } = answer.json;
  const { timestamp: _other, ...unknown } = (await server.call('/nowhere')).json;
  expect(body).toEqual(unknown);
});

test('a security.txt without https and policy leaves out what must be https', async () => {
  const contact = 'https://example.com/report';
  const publicBaseUrl = 'http://127.0.0.1:8080';
  const routes = securityTxtRoutes({ contact, policyUrl: undefined, publicBaseUrl });
  await using server = await serve({ routes });
  const { text } = await server.call(PATH);
  expect(text).toMatch(
    /^Contact: https:\/\/example\.com\/report\nExpires: \S+\nPreferred-Languages: en\n$/,
  );
});
