import { expect } from 'vitest';
import type { ErrorCode } from '../../src/domain/index.ts';
import { ERRORS } from '../../src/http/responses/errors.ts';
import type { ApiAnswer } from '../support/api-client.ts';

const TIMESTAMP: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** The standard error body with exactly its fields. */
export function expectRefusal(answer: ApiAnswer<unknown>, status: number, message: string): void {
  expect([answer.status, answer.body]).toEqual([
    status,
    { success: false, message, data: null, timestamp: TIMESTAMP },
  ]);
  const code = answer.headers.get('X-Error-Code');
  expect(ERRORS[code as ErrorCode].status, `X-Error-Code ${code}`).toBe(status);
  expectApiHeaders(answer);
}

/** The validation error body with exactly its fields. */
export function expectViolations(
  answer: ApiAnswer<unknown>,
  validationErrors: Record<string, string>,
): void {
  expect([answer.status, answer.body]).toEqual([
    400,
    {
      message: 'Validation failed',
      status: 400,
      error: 'Bad Request',
      timestamp: TIMESTAMP,
      validationErrors,
    },
  ]);
  expect(answer.headers.get('X-Error-Code')).toBe('VALIDATION_FAILED');
  expectApiHeaders(answer);
}

/** The standard envelope around the requested data. */
export function expectSuccess(answer: ApiAnswer<unknown>, status: number): void {
  const { body } = answer;
  expect([answer.status, body.success, body.data]).toEqual([status, true, expect.anything()]);
  expect(Object.keys(body)).toEqual(['success', 'message', 'data', 'timestamp']);
  expect([body.message, body.timestamp]).toEqual([expect.any(String), TIMESTAMP]);
  expectApiHeaders(answer);
}

/** Among these, one is the refusal of a request over the limit. */
export function expectTooManyRequests(answers: readonly ApiAnswer<unknown>[]): void {
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.body).toEqual({ error: expect.stringMatching(/^Too many requests/) });
  expect(refused?.headers.get('Retry-After')).toBe('1');
  expect(refused?.headers.get('X-Error-Code')).toBe('TOO_MANY_REQUESTS');
  if (refused) expectApiHeaders(refused);
}

/** The headers of every response, errors included. */
export function expectApiHeaders({ headers }: Pick<ApiAnswer<unknown>, 'headers'>): void {
  expect(headers.get('X-API-Version')).toBe('2026-11-20');
  expect(headers.get('Content-Type')).toBe('application/json; charset=utf-8');
  expect(headers.get('ETag')).toBeNull();
  expect(headers.get('Cache-Control')).toBe('no-store');
}
