import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { sentRequest, signedRequest } from '../../src/webhooks/sending/signed-request.ts';
import { startReceiver } from './receivers.ts';
import { makeSender } from './send.ts';

const GUIDE = new URL('../../docs/guides/webhooks.md', import.meta.url);

test('a webhook has the headers that the guide and the log of attempts list, and no others', async () => {
  const received: string[][] = [];
  const receiver = await startReceiver((request, response) => {
    received.push(request.rawHeaders);
    response.end();
  });
  const message = {
    url: `http://127.0.0.1:${receiver.port}/hook`,
    environment: 'sandbox',
    secret: `whsec_${'A'.repeat(32)}`,
    eventType: 'ORDER_CREATED',
    eventId: 'evt_1',
    body: '{"event":"ORDER_CREATED"}',
    apiVersion: '2026-11-20',
  } as const;
  const sentAt = new Date();
  const request = signedRequest(message, sentAt);
  expect((await makeSender().send(request)).outcome).toBe('delivered');
  const logged = sentRequest({ ...request, ...message }, sentAt);
  expect(received).toEqual([logged.headers.flat()]);

  const guide = await readFile(GUIDE, 'utf8');
  const [, table = ''] = guide.split('| Header | Value |');
  const listed = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
  expect(listed).toEqual(logged.headers.map(([name]) => name.toLowerCase()));
  expect(Object.fromEntries(logged.headers)).toMatchObject({ Accept: '*/*' });
});
