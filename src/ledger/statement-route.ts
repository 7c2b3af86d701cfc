import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Sql } from '../db/client.ts';
import { rupeesFromPaise } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { cursorInQuery, cursorOf } from '../http/input/cursor.ts';
import { integerInQuery } from '../http/input/fields.ts';
import { envelopeOf, success } from '../http/responses/response.ts';
import { statementCsv } from './statement-csv.ts';
import { presentLine, statementLineSchema } from './statement-presenter.ts';
import { readStatement } from './statement.ts';

const NO_DAY = 'must be a day such as 2026-11-20';

/** A day in a path or a query. PostgreSQL has no year 0. */
export const daySchema = z.iso
  .date({ error: NO_DAY })
  .refine((day) => day >= '0001', { error: NO_DAY });

const statementCursor = cursorInQuery(z.tuple([z.int().min(0)]));

const statementSchema = z
  .object({
    content: z.array(statementLineSchema),
    next: z.string().nullable().meta({
      description: 'The `after` of the next page; null on the last one',
    }),
    opening_balance: z.number().meta({
      description:
        'Rupees held for you when the day began: paid by buyers, neither released nor returned',
      example: 1200,
    }),
    closing_balance: z.number().meta({
      description: 'The same at its end; of a day that is not closed, for now',
      example: 1699.5,
    }),
    closed: z.boolean().meta({ description: 'Nothing will be added to the day any more' }),
  })
  .meta({ id: 'Statement' });

export function statementRoute(sql: Sql): Route {
  return defineRoute({
    base: 'merchant',
    tags: ['Statements'],
    method: 'GET',
    path: '/statements/{date}',
    operationId: 'getStatement',
    summary: 'Get the statement of a day',
    description:
      'Every line of your money that was booked on this day in India, in the order of its booking, and the ' +
      'balance of what is held for you. A day is `closed` a few minutes after its end, and then never changes: ' +
      'read it then. `Accept: text/csv` returns the whole day in one file, with the balances as its first and ' +
      'last row; `after` and `size` have no effect on it.',
    params: z.object({ date: daySchema.meta({ example: '2026-11-20' }) }),
    query: z.object({
      after: statementCursor.optional().meta({ description: 'The `next` of the page before' }),
      size: integerInQuery({
        error: 'must be a whole number from 1 to 100',
        minimum: 1,
        maximum: 100,
        fallback: 20,
      }).meta({ description: 'The most lines in the response' }),
    }),
    headers: z.object({ Accept: z.string().optional() }),
    responses: {
      200: {
        description: 'The lines of the day and its balances',
        schema: envelopeOf(statementSchema),
        alsoAs: 'text/csv',
      },
    },
    errors: ['NOT_FOUND'],
  }).handledBy(async ({ params, query, headers, merchant, environment }) => {
    const owner = { merchantId: merchant.id, environment };
    if (/\btext\/csv\b/i.test(headers.Accept ?? '')) {
      const body = Readable.from(
        await statementCsv(sql, owner, params.date, { reader: 'program' }),
      );
      return { status: 200, body, contentType: 'text/csv' };
    }
    const { lines, next, ...day } = await readStatement(sql, owner, params.date, query);
    const data = {
      content: lines.map(presentLine),
      next: next && cursorOf(next),
      opening_balance: rupeesFromPaise(day.openingPaise),
      closing_balance: rupeesFromPaise(day.closingPaise),
      closed: day.isClosed,
    };
    return { status: 200, body: success('Statement', data) };
  });
}
