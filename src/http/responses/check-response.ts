import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { Reply, Route } from '../define-route.ts';
import { errorStatusesOf } from './common-errors.ts';

/** A response that contradicts the route's declaration. */
class UndocumentedResponseError extends Error {
  override readonly name = 'UndocumentedResponseError';
}

const undocumented = (route: Route, problem: string) =>
  new UndocumentedResponseError(`${route.operationId} responded with ${problem}`);

/** Refuses additional fields too: a response contains documented fields only. */
function assertBody(route: Route, reply: Reply, schema: z.ZodType): void {
  const onTheWire: unknown = JSON.parse(JSON.stringify(reply.body));
  const parsed = schema.safeParse(onTheWire);
  if (!parsed.success) throw undocumented(route, `${reply.status}: ${parsed.error.message}`);
  if (!isDeepStrictEqual(parsed.data, onTheWire)) {
    throw undocumented(route, `${reply.status} with fields that its schema does not have`);
  }
}

/**
 * Compares a response with the declaration of its route: status, headers and body.
 *
 * @throws UndocumentedResponseError naming the operation and the difference.
 */
export function assertDocumented(route: Route, reply: Reply): void {
  const declared = route.responses[reply.status];
  if (!declared) throw undocumented(route, `${reply.status}, which it does not declare`);
  const isOther = declared.alsoAs !== undefined && declared.alsoAs === reply.contentType;
  if (declared.contentType !== undefined || isOther) return;
  const headers = declared.headers?.strict().safeParse(reply.headers ?? {});
  if (headers && !headers.success) throw undocumented(route, `headers: ${headers.error.message}`);
  if (!headers && Object.keys(reply.headers ?? {}).length > 0) {
    throw undocumented(route, `headers that it does not declare`);
  }
  assertBody(route, reply, declared.schema);
}

/**
 * Compares the status of an error response with the errors that its route declares.
 *
 * @throws UndocumentedResponseError if the route does not list an error of this status.
 */
export function assertDocumentedError(route: Route, status: number): void {
  if (!errorStatusesOf(route).has(status)) {
    throw undocumented(route, `${status}, but none of its errors has that status`);
  }
}
