import { z } from 'zod';
import type { Sql } from '../../db/client.ts';
import type { Route } from '../../http/define-route.ts';
import { defineRoute } from '../../http/define-route.ts';
import { envelopeOf, success } from '../../http/responses/envelope.ts';
import { armSandboxFault } from '../../merchants/public.ts';
import { helper } from './test-helpers.ts';

/** Arms the one fault that a client cannot simulate: the request takes effect, and the answer is an error. */
export function failAfterWorkRoute(sql: Sql): Route {
  return defineRoute({
    base: helper.base,
    tags: helper.tags,
    method: 'POST',
    path: `${helper.below}/fail-after-work`,
    operationId: 'testFailAfterWork',
    summary: 'Fail the next request after its work',
    description:
      'Your next POST in the sandbox that succeeds and is no test helper takes effect, and answers 500, once. Repeat ' +
      'it with the same Idempotency-Key: your integration must not do its work twice.',
    responses: {
      200: { description: 'The next POST answers 500', schema: envelopeOf(z.null()) },
    },
  }).handledBy(async ({ merchant }) => {
    await armSandboxFault(sql, merchant.id);
    return { status: 200, body: success('The next POST answers 500 after its work', null) };
  });
}
