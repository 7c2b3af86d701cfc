import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { CREDENTIALS, JSON_TYPE, PRODUCTION, SANDBOX, serve } from './http-support.ts';

const VALID = { amount: 5, description: 'A kurta' };

async function serveOnce(path: string, init: RequestInit) {
  await using server = await serve();
  return server.call(path, init);
}

async function post(
  body: string | Buffer<ArrayBuffer> | undefined,
  headers: Record<string, string> = JSON_TYPE,
) {
  await using server = await serve();
  const init = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
  const answer = await server.call(`${SANDBOX}/things`, init);
  return { ...answer, logged: server.logged };
}

const messageOf = async (
  body: string | Buffer<ArrayBuffer> | undefined,
  headers?: Record<string, string>,
) => {
  const { status, json } = await post(body, headers);
  return [status, json['message']];
};

test.each(['{', '', 'nonsense', '{"amount":NaN}', '{"amount":5,}', "{'amount':5}", '{"a":"\n"}'])(
  'malformed JSON is a 400: %j',
  async (body) => {
    expect(await messageOf(body)).toEqual([400, 'Malformed JSON']);
  },
);

test.each(['[]', '[{}]', 'null', '1', '"text"', 'true'])(
  'a JSON value that is not an object is a 400: %s',
  async (body) => {
    expect(await messageOf(body)).toEqual([400, 'The request body must be a JSON object']);
  },
);

test.each([
  ['text/plain'],
  ['application/x-www-form-urlencoded'],
  ['application/jsonx'],
  ['multipart/form-data; boundary=x'],
  [''],
])('another media type is a 400: %j', async (type) => {
  const body = JSON.stringify(VALID);
  const answer = await messageOf(body, { 'Content-Type': type });
  expect(answer).toEqual([400, 'Content-Type must be application/json']);
});

test.each([
  'application/json',
  'Application/JSON; charset=UTF-8',
  'application/json;charset="utf-8"',
])('JSON is accepted however its media type is written: %s', async (type) => {
  expect((await post(JSON.stringify(VALID), { 'Content-Type': type })).status).toBe(201);
});

test.each(['iso-8859-1', 'utf-16', 'UTF-16LE', '""'])(
  'a body in another charset is a 400 that says so: %s',
  async (charset) => {
    const headers = { 'Content-Type': `application/json; charset=${charset}` };
    expect(await messageOf(JSON.stringify(VALID), headers)).toEqual([
      400,
      'The charset of the request body must be UTF-8',
    ]);
  },
);

test.each(['gzip', 'br', 'deflate'])(
  'a compressed body is a 400 that says so, because it could decompress to more than the limit: %s',
  async (encoding) => {
    const headers = { ...JSON_TYPE, 'Content-Encoding': encoding };
    expect(await messageOf(JSON.stringify(VALID), headers)).toEqual([
      400,
      'The request body must not be compressed; send it without Content-Encoding',
    ]);
  },
);

test('a body without Content-Length is cut off at 32 KiB, and the caller gets the reason', async () => {
  const chunk = new TextEncoder().encode('x'.repeat(10_000));
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (sent++ < 500) controller.enqueue(chunk);
      else controller.close();
    },
  });
  await using server = await serve();
  const init = { method: 'POST', headers: JSON_TYPE, body, duplex: 'half' } as const;
  expect((await server.call(`${SANDBOX}/things`, init)).status).toBe(413);
});

test('a caller that disconnects during its request causes no server error', async () => {
  await using server = await serve();
  const socket = connect(server.port, '127.0.0.1');
  const headers = Object.entries({ ...CREDENTIALS, ...JSON_TYPE, Host: 'a', 'Content-Length': 50 });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`POST ${SANDBOX}/things HTTP/1.1\r\n${lines}\r\n{"amount"`);
  await once(socket, 'ready');
  socket.destroy();
  await expect.poll(() => server.logged.some(({ msg }) => msg === 'request')).toBe(true);
  expect(server.logged.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});

test.each([
  ['__proto__', '{"__proto__":{"amount":5,"admin":true},"amount":5,"description":"x"}'],
  ['constructor', '{"constructor":{"prototype":{"admin":true}},"amount":5,"description":"x"}'],
])('%s in a body changes no prototype', async (_name, body) => {
  expect((await post(body)).status).toBe(201);
  expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
});

test('fields of a prototype do not count as sent', async () => {
  const { status, json } = await post('{"__proto__":{"amount":5,"description":"x"}}');
  expect([status, Object.keys(json['validationErrors'] as object)]).toEqual([
    400,
    ['amount', 'description'],
  ]);
});

const nested = (open: string, close: string) => open.repeat(10_000) + '1' + close.repeat(10_000);

test.each([
  ['an array in an unknown field', `{"x":${nested('[', ']')},"amount":5,"description":"x"}`, 201],
  ['an array in a known field', `{"note":${nested('[', ']')},"amount":5,"description":"x"}`, 400],
  ['an array as the body', nested('[', ']'), 400],
])('10,000 levels are survived: %s', async (_what, body, status) => {
  expect((await post(body)).status).toBe(status);
});

test('10,000 nested objects are more than 32 KiB', async () => {
  expect((await post(nested('{"a":', '}'))).status).toBe(413);
});

test('of duplicate keys the last one counts, as in every JSON parser of JavaScript', async () => {
  const { json } = await post('{"amount":1,"amount":7,"description":"x"}');
  expect(json['data']).toMatchObject({ amount: 7 });
});

test.each([
  ['a lone continuation byte', [0x80]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['an encoded surrogate', [0xed, 0xa0, 0x80]],
  ['a cut-off sequence', [0xf0, 0x9f]],
])('invalid UTF-8 is malformed JSON: %s', async (_what, bytes) => {
  const text = '{"amount":5,"description":"?"}';
  const [before = '', after = ''] = text.split('?');
  const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
  expect(await messageOf(body)).toEqual([400, 'Malformed JSON']);
});

test.each(['\\ud800', '\\udc00', 'a\\ud83d', '\\u0000', 'a\\u0000b'])(
  'text that PostgreSQL cannot hold is a violation of its field: %s',
  async (escape) => {
    const { status, json } = await post(`{"amount":5,"description":"x","note":"${escape}"}`);
    expect([status, json['validationErrors']]).toEqual([
      400,
      { note: 'must not contain NUL characters or unpaired surrogates' },
    ]);
  },
);

test('the same text in a field that the route does not read does no harm', async () => {
  expect((await post('{"amount":5,"description":"x","unknown":"\\u0000\\ud800"}')).status).toBe(
    201,
  );
});

test('all violations of all parts are reported together, one message for each field', async () => {
  const headers = { ...JSON_TYPE, 'Idempotency-Key': 'with blank' };
  const { status, json } = await post('{"description":null,"note":5}', headers);
  expect([status, json]).toEqual([
    400,
    {
      message: 'Validation failed',
      status: 400,
      error: 'Bad Request',
      timestamp: expect.any(String),
      validationErrors: {
        'Idempotency-Key': 'must be visible',
        amount: 'must be greater than or equal to 5.0',
        description: 'must not be blank',
        note: expect.any(String),
      },
    },
  ]);
});

test.each([
  ['4.99', 'must be greater than or equal to 5.0'],
  ['"500"', 'must be greater than or equal to 5.0'],
  ['null', 'must be greater than or equal to 5.0'],
  ['{}', 'must be greater than or equal to 5.0'],
  ['1e999', 'must be greater than or equal to 5.0'],
])('an amount of %s gets the message of its own rule', async (amount, message) => {
  const { json } = await post(`{"amount":${amount},"description":"x"}`);
  expect(json['validationErrors']).toEqual({ amount: message });
});

const BLANKS = [0x20, 0x09, 0x0a, 0x85, 0xa0, 0x1680, 0x2003, 0x200b, 0x2028, 0x3000, 0xfeff];

test.each(BLANKS)('a text of nothing but U+%s is blank', async (codePoint) => {
  const description = String.fromCodePoint(codePoint).repeat(3);
  const { json } = await post(JSON.stringify({ amount: 5, description }));
  expect(json['validationErrors']).toEqual({ description: 'must not be blank' });
});

test('lengths count characters, not UTF-16 units', async () => {
  const statusOf = async (description: string) =>
    (await post(JSON.stringify({ amount: 5, description }))).status;
  expect(await statusOf('😀'.repeat(50))).toBe(201);
  expect(await statusOf('😀'.repeat(51))).toBe(400);
});

const cancel = async (init: RequestInit) => {
  await using server = await serve();
  const { status, json } = await server.call(`${SANDBOX}/things/T1/cancel`, {
    method: 'POST',
    ...init,
  });
  return [status, json['data'] ?? json['message']];
};

test('an optional body may be absent, with and without a Content-Type', async () => {
  expect(await cancel({})).toEqual([200, { reason: null }]);
  expect(await cancel({ headers: JSON_TYPE })).toEqual([200, { reason: null }]);
  expect(await cancel({ headers: { 'Content-Type': 'text/plain' } })).toEqual([
    200,
    { reason: null },
  ]);
});

test('an optional body is validated if it is sent', async () => {
  expect(await cancel({ headers: JSON_TYPE, body: '{"reason":"late"}' })).toEqual([
    200,
    { reason: 'late' },
  ]);
  expect(await cancel({ headers: JSON_TYPE, body: '{"reason":"much too long"}' })).toEqual([
    400,
    'Validation failed',
  ]);
  expect(await cancel({ body: '{"reason":"late"}' })).toEqual([
    400,
    'Content-Type must be application/json',
  ]);
  expect(await cancel({ headers: JSON_TYPE, body: 'null' })).toEqual([
    400,
    'The request body must be a JSON object',
  ]);
});

const pay = (body: string | ReadableStream, headers: Record<string, string> = JSON_TYPE) => {
  const init = { method: 'POST', headers, body, duplex: 'half' } as const;
  return serveOnce(`${SANDBOX}/test-helpers/pay`, init);
};

test.each([
  ['no body', '', 200, 'Paid'],
  ['an object', '{"unknown":1}', 200, 'Paid'],
  ['malformed JSON', '{', 400, 'Malformed JSON'],
  ['another value', '[]', 400, 'The request body must be a JSON object'],
  ['32 KiB and more', 'x'.repeat(40_000), 413, 'Request body is larger than 32 KiB'],
])('a POST that needs no body holds one to the same rules: %s', async (_what, body, ...answer) => {
  const { status, json } = await pay(body);
  expect([status, json['message']]).toEqual(answer);
});

test('a POST that needs no body refuses another media type', async () => {
  const { status, json } = await pay('{}', { 'Content-Type': 'text/plain' });
  expect([status, json['message']]).toEqual([400, 'Content-Type must be application/json']);
});

test('a POST that needs no body cuts off a body without Content-Length at 32 KiB', async () => {
  expect((await pay(new Blob(['x'.repeat(40 * 1024)]).stream())).status).toBe(413);
});

test('the sandbox names the fields and filters that it ignores, also in a refusal', async () => {
  await using server = await serve();
  const send = async (path: string, body: object) => {
    const init = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) };
    const { status, headers } = await server.call(path, init);
    return [status, headers.get('X-Unknown-Fields')];
  };
  const things = `${SANDBOX}/things`;
  expect(await send(things, VALID)).toEqual([201, null]);
  expect(await send(things, { ...VALID, note: 'x', colour: 1, __proto: 2 })).toEqual([
    201,
    'colour, __proto',
  ]);
  expect(await send(things, { amount: 5, desciption: 'A kurta' })).toEqual([400, 'desciption']);
  expect(await send(`${things}/T1/cancel`, { 'a, b': 1, 'र\n': 2 })).toEqual([
    200,
    'a%2C%20b, %E0%A4%B0%0A',
  ]);
  const many = Object.fromEntries([...'abcdefghijkl'].map((name) => [name, 1]));
  expect(await send(things, { ...VALID, ...many })).toEqual([201, 'a, b, c, d, e, f, g, h, i, j']);
  const [, long] = await send(things, { ...VALID, [`😀${'\ud800'.repeat(4_000)}`]: 1 });
  expect(decodeURIComponent(String(long))).toBe(`😀${'\ufffd'.repeat(63)}`);
});

test('production does not name unknown fields', async () => {
  const merchant = { id: 'M1', name: 'M', apiKey: 'mk_live_1', isReady: true };
  await using server = await serve({ authenticate: async () => merchant });
  const body = JSON.stringify({ ...VALID, colour: 1 });
  const init = { method: 'POST', headers: JSON_TYPE, body };
  const answer = await server.call(`${PRODUCTION}/things`, init);
  expect([answer.status, answer.headers.get('X-Unknown-Fields')]).toEqual([201, null]);
});
