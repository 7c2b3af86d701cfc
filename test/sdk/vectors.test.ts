import { expect, test } from 'vitest';
import vectors from '../../sdk/test-vectors.json' with { type: 'json' };
import type { ErrorCode } from '../../src/domain/errors.ts';
import { errorOf, errorReply, ValidationError } from '../../src/http/responses/errors.ts';
import { signWebhook } from '../../src/webhooks/sending/signed-request.ts';

const accepted = vectors.webhooks.filter(({ expect: { eventId } }) => eventId !== undefined);
const ofTheService = vectors.errors.filter(({ name, expect: { code } }) => name === code);

const withoutRequestId = (headers: object) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'x-request-id'));

test.for(accepted)('the service signs: $name', ({ secrets, headers, body }) => {
  const timestampSeconds = Number(headers['x-service-timestamp']);
  const rawBody = Buffer.from(body);
  const signatures = secrets.map((secret) => signWebhook({ secret, timestampSeconds, rawBody }));
  expect(signatures).toContain(headers['x-service-signature']);
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
