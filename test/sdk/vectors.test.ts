import { expect, test } from 'vitest';
import vectors from '../../sdk/test-vectors.json' with { type: 'json' };
import type { ErrorCode } from '../../src/domain/errors.ts';
import { errorOf, errorReply, ValidationError } from '../../src/http/responses/errors.ts';
import { signedRequest } from '../../src/webhooks/sending/signed-request.ts';

const accepted = vectors.webhooks.filter(({ expect: { eventId } }) => eventId !== undefined);
const ofTheService = vectors.errors.filter(({ name, expect: { code } }) => name === code);

/** The parts of a webhook that `X-Service-Signature` does not cover. */
const MESSAGE = {
  url: 'https://shop.example/webhooks',
  environment: 'sandbox',
  eventType: 'PAYMENT_SUCCESS',
  eventId: 'evt_1',
  apiVersion: '1',
} as const;

const withoutRequestId = (headers: object) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'x-request-id'));

test.for(accepted)('the service signs: $name', ({ secrets, headers, body }) => {
  const sentAt = new Date(Number(headers['x-service-timestamp']) * 1000);
  const signed = secrets.map((secret) => signedRequest({ ...MESSAGE, secret, body }, sentAt));
  expect(signed.map(({ signature }) => signature)).toContain(headers['x-service-signature']);
});

test.for(ofTheService)('the service answers: $name', ({ name, status, headers, body }) => {
  const { timestamp, validationErrors } = JSON.parse(body) as {
    timestamp: string;
    validationErrors?: Record<string, string>;
  };
  const error = validationErrors
    ? new ValidationError(validationErrors)
    : errorOf(name as ErrorCode);
  const reply = errorReply(error, new Date(timestamp));
  expect({ ...reply, body: JSON.stringify(reply.body) }).toEqual({
    status,
    headers: withoutRequestId(headers),
    body,
  });
});
