import { describe, expect } from 'vitest';
import type { Environment } from '../../src/domain/index.ts';
import { setOrigins } from '../../src/merchants/origins.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { anOrder } from '../support/api-client.ts';
import { COMMAND_REQUESTS } from '../support/command-requests.ts';
import type { Merchant } from '../support/merchant.ts';
import { rawRequest } from '../support/raw-request.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { expectRefusal, expectSuccess, expectViolations } from './expectations.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } }).extend(
  'api',
  { scope: 'file' },
  ({ merchant }) => merchant.sandbox,
);

const TOO_LITTLE = 'must be greater than or equal to 5.0';
const TOO_MUCH = 'must be less than or equal to 10000.0';
const NO_NUMBER = 'must be a number';
const UNSAFE = 'must not contain NUL characters or unpaired surrogates';
const DECIMALS = 'must have at most two decimals';
const EMAIL = 'must be a valid email address';
const PHONE = 'must match "^\\+91[0-9]{10}$"';
const BLANK = 'must not be blank';
const ORDER_ID = 'must be 1 to 64 of A-Z a-z 0-9 . _ -';

/** POST /orders with a body given as text, so that numbers stay as they were written. */
const postText = (service: TestService, merchant: Merchant, body: string): Promise<ApiAnswer> =>
  rawRequest(service.origin, merchant.keys.sandbox, { method: 'POST', path: '/orders', body });

const withAmount = (service: TestService, merchant: Merchant, amount: string) => {
  const { amount: _, ...rest } = anOrder();
  return postText(service, merchant, `{"amount":${amount},${JSON.stringify(rest).slice(1)}`);
};

describe('amounts', () => {
  test.for([
    ['5', 500],
    ['5.0', 500],
    ['5.00', 500],
    ['5.01', 501],
    ['5.000000', 500],
    ['5.00000000000000000000', 500],
    ['50000000000000000e-16', 500],
    ['8.29', 829],
    ['10.10', 1010],
    ['1.15e1', 1150],
    ['19.99', 1999],
    ['64.1', 6410],
    ['1e3', 100_000],
    ['1E+3', 100_000],
    ['1001.1', 100_110],
    ['4096.03', 409_603],
    ['9999.99', 999_999],
    ['10000', 1_000_000],
    ['10000.00', 1_000_000],
  ] as const)(
    '%s rupees are exactly %i paise in the database, and the same rupees again',
    async ([text, paise], { service, merchant, api }) => {
      const answer = await withAmount(service, merchant, text);
      expectSuccess(answer, 201);
      const [row] = await service.sql<{ amountPaise: number }[]>`
      SELECT amount_paise FROM orders WHERE order_number = ${answer.body.data.order_number}`;
      expect(row?.amountPaise).toBe(paise);
      const { body } = await api.get(`/orders/${answer.body.data.order_number}`);
      expect(body.data.amount).toBe(Number(text));
    },
  );

  test.for([
    ['4.99', TOO_LITTLE],
    ['4.999999999999999', TOO_LITTLE],
    ['0', TOO_LITTLE],
    ['-0', TOO_LITTLE],
    ['-5', TOO_LITTLE],
    ['1e-400', TOO_LITTLE],
    ['null', TOO_LITTLE],
    ['"500"', NO_NUMBER],
    ['"NaN"', NO_NUMBER],
    ['""', NO_NUMBER],
    ['true', NO_NUMBER],
    ['[500]', NO_NUMBER],
    ['{"value":500}', NO_NUMBER],
    ['10000.01', TOO_MUCH],
    ['10000.001', TOO_MUCH],
    ['1e400', TOO_MUCH],
    ['99999999999999999999', TOO_MUCH],
    ['5.001', DECIMALS],
    ['5.005', DECIMALS],
    ['9999.999', DECIMALS],
    ['5.000000000000001', DECIMALS],
    ['10.100000000000001', DECIMALS],
    ['5.0000000000000001', DECIMALS],
    ['50000000000000001e-16', DECIMALS],
    ['4.9999999999999999', TOO_LITTLE],
    ['4.9999999999999993', TOO_LITTLE],
    ['4.99999', TOO_LITTLE],
    ['-7.1234567', TOO_LITTLE],
    ['9999.99999999999999999', DECIMALS],
    ['5.0000000000000008', DECIMALS],
    ['-1e400', TOO_LITTLE],
    ['9999.9900000000000000000001', DECIMALS],
    ['10000.00000000000000001', TOO_MUCH],
    ['1e-4000000000000000', TOO_LITTLE],
  ] as const)('an amount of %s is refused: %s', async ([text, message], { service, merchant }) => {
    expectViolations(await withAmount(service, merchant, text), { amount: message });
  });

  test.for(['NaN', 'Infinity', '-Infinity', '0x10', '05', '.5', '5.', '5,00', '+5', '5_000'])(
    '%s is not JSON',
    async (text, { service, merchant }) =>
      expectRefusal(await withAmount(service, merchant, text), 400, 'Malformed JSON'),
  );
});

describe('every field of an order has its rule and its message', () => {
  test('missing, null and wrong fields are all reported together, and so is a wrong key', async ({
    api,
  }) => {
    const answer = await api.post(
      '/orders',
      { amount: '500', buyerEmail: null, description: ' ', buyerName: 7, currency: 'USD' },
      { 'Idempotency-Key': 'with blank' },
    );
    expectViolations(answer, {
      'Idempotency-Key': 'must be 1 to 255 visible ASCII characters',
      amount: NO_NUMBER,
      buyerEmail: EMAIL,
      buyerPhone: PHONE,
      description: BLANK,
      buyerName: 'must be at most 100 characters',
      currency: 'must be "INR"',
    });
  });

  test.for([
    ['buyerEmail', EMAIL, [null, '', 'asha', 'asha@example', 'a b@example.com', 'a@@example.com']],
    ['buyerEmail', EMAIL, ['.a@example.com', 'a@example.com\n', `${'a'.repeat(65)}@example.com`]],
    ['buyerEmail', EMAIL, [5, true, ['a@example.com'], { a: 1 }, `a@${'b.'.repeat(126)}com`]],
    ['buyerPhone', PHONE, [null, '', '9876543210', '+91987654321', '+9198765432101', 919876543210]],
    ['buyerPhone', PHONE, ['+91 9876543210', '+91-9876543210', '(+91)9876543210', '+929876543210']],
    ['buyerPhone', PHONE, ['+91९८७६५४३२१०', '+919876543210\n', ' +919876543210', '0919876543210']],
    ['description', BLANK, [null, '', ' ', '\t\r\n', 5, [], {}, false]],
    ['buyerName', 'must be at most 100 characters', ['x'.repeat(101), '😀'.repeat(101), 5, []]],
    ['merchantOrderId', ORDER_ID, ['', 'a b', 'a/b', 'é', 'a\n', 'x'.repeat(65), 5]],
    ['currency', 'must be "INR"', ['USD', 'inr', '', 5]],
  ] as const)('%s: %s', async ([field, message, values], { api }) => {
    for (const value of values) {
      expectViolations(await api.post('/orders', anOrder({ [field]: value })), {
        [field]: message,
      });
    }
    if (!['buyerName', 'merchantOrderId', 'currency'].includes(field)) {
      expectViolations(await api.post('/orders', anOrder({ [field]: undefined })), {
        [field]: message,
      });
    }
  });

  /** Unicode's White_Space, and other characters that show nothing. */
  const UNSEEN = [
    0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
    0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0x00ad,
    0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x2060, 0x2800, 0x3164, 0xfeff, 0xe0020,
  ];

  test('a description that consists only of white space of any kind is blank', async ({ api }) => {
    const blanks = UNSEEN.map((codePoint) => String.fromCodePoint(codePoint));
    for (const description of [...blanks, blanks.join('')]) {
      expectViolations(await api.post('/orders', anOrder({ description })), { description: BLANK });
    }
  });

  test.for([
    ['white space around', '\u2003 kurta \u3000'],
    ['another script', 'नीला कुर्ता'],
    ['emoji and joiners', '👩‍👩‍👧‍👦 👍🏽'],
    ['right to left', '\u202Eعباية\u202C'],
    ['quotes and SQL', `'; DROP TABLE orders; -- "\\ $1 $$`],
    ['markup', '<script>alert(1)</script>&amp;'],
    ['line separators', 'a\u2028b\u2029c\r\nd'],
    ['control characters', 'a\u0001\u001fb\u007f'],
    ['30,000 characters', 'x'.repeat(30_000)],
  ] as const)('a description is kept unchanged: %s', async ([_what, description], { api }) => {
    const answer = await api.post('/orders', anOrder({ description }));
    expectSuccess(answer, 201);
    const { body } = await api.get(`/orders/${answer.body.data.order_number}`);
    expect(body.data.description).toBe(description);
  });

  test('optional fields may be null, and unknown fields are ignored', async ({ api }) => {
    const optional = { buyerName: null, merchantOrderId: null, currency: null };
    const answer = await api.post('/orders', anOrder({ ...optional, status: 'PAID', x: [1] }));
    expectSuccess(answer, 201);
    expect(answer.body.data).toMatchObject({ status: 'ACCEPTED', buyer: { name: '' } });
    expect(answer.body.data).not.toHaveProperty('merchant_order_id');
    expect(answer.headers.get('X-Unknown-Fields')).toBe('status, x');
  });

  test('the sandbox names the unknown filters of a list', async ({ api }) => {
    const { headers } = await api.get('/orders?pagesize=5&buyer_email=a%40example.com&sort=asc');
    expect(headers.get('X-Unknown-Fields')).toBe('pagesize, sort');
  });

  const NO_URL =
    'must be an http or https URL of at most 2048 visible ASCII characters, without a user name or password';

  test.for([
    'shop.example.com',
    'javascript:alert(1)',
    'https://',
    'https://a b.example.com',
    'https://shop.example.com/\n',
    'https://asha@shop.example.com',
    'https://asha:secret@shop.example.com/',
    'https://shop.example.com\\@evil.example.com/',
    'https://[::1',
    'https://दुकान.example.com/',
    `https://shop.example.com/${'x'.repeat(2024)}`,
    5,
  ])('a return URL is refused: %s', async (returnUrl, { api }) => {
    expectViolations(await api.post('/orders', anOrder({ returnUrl })), { returnUrl: NO_URL });
  });

  test('a return URL is kept as it was written, and an order without one has none', async ({
    api,
  }) => {
    const returnUrl = `https://shop.example.com/${'x'.repeat(2023)}`;
    for (const url of [returnUrl, 'http://localhost:3000/a?b=@#c']) {
      const answer = await api.post('/orders', anOrder({ returnUrl: url }));
      expectSuccess(answer, 201);
      expect(answer.body.data.return_url).toBe(url);
      const names = Object.keys(answer.body.data);
      expect(names[names.indexOf('payment_url') + 1]).toBe('return_url');
    }
    const { body } = await api.post('/orders', anOrder({ returnUrl: null }));
    expect(body.data).not.toHaveProperty('return_url');
  });

  test('a return URL is https in production, and on the list of approved domains if there is one', async ({
    service,
  }) => {
    const shop = await service.newMerchant({ linkedAccountId: 'acc_Returns' });
    const create = (environment: Environment, returnUrl: string) =>
      shop[environment].post('/orders', anOrder({ returnUrl }));
    expectViolations(await create('production', 'http://shop.example.com'), {
      returnUrl: 'must use https in production',
    });
    expectSuccess(await create('production', 'https://shop.example.com'), 201);
    const admin = { sql: service.sql, actor: TEST_ACTOR };
    await setOrigins(admin, shop.merchantId, 'sandbox', ['https://shop.example.com']);
    expectSuccess(await create('sandbox', 'https://SHOP.example.com:443/back'), 201);
    expectViolations(await create('sandbox', 'https://shop.example.com.evil.example'), {
      returnUrl: 'must be on your list of approved domains',
    });
  });

  test('texts of the maximum length are accepted', async ({ api }) => {
    const longest = { buyerName: '😀'.repeat(100), merchantOrderId: 'A.z_9-'.repeat(10) + '1234' };
    const answer = await api.post('/orders', anOrder({ ...longest, currency: 'INR' }));
    expectSuccess(answer, 201);
    expect(answer.body.data).toMatchObject({
      buyer: { name: longest.buyerName },
      merchant_order_id: longest.merchantOrderId,
    });
  });
});

describe('NUL or an unpaired surrogate, in any text, is named in the response', () => {
  const UNSAFE_TEXTS = ['a\0b', '\0', 'long enough \ud800', '\udc00'];

  test.for(['buyerEmail', 'buyerPhone', 'description', 'buyerName', 'merchantOrderId', 'currency'])(
    '%s of an order',
    async (field, { service, merchant }) => {
      for (const value of UNSAFE_TEXTS) {
        const body = JSON.stringify(anOrder({ [field]: value }));
        expectViolations(await postText(service, merchant, body), { [field]: UNSAFE });
      }
    },
  );

  test.for([
    ['/orders/ORD0/deliver', 'trackingId'],
    ['/orders/ORD0/deliver', 'note'],
    ['/orders/ORD0/cancel', 'reason'],
    ['/orders/ORD0/dispute/evidence', 'text'],
    ['/orders/ORD0/dispute/resolve', 'resolution'],
    ['/test-helpers/orders/ORD0/dispute', 'reason'],
  ] as const)('%s: %s', async ([path, field], { api }) => {
    for (const value of UNSAFE_TEXTS) {
      expectViolations(await api.post(path, { [field]: value }), { [field]: UNSAFE });
    }
  });

  test.for(['page', 'size', 'status', 'merchantOrderId', 'buyer_email', 'createdFrom'])(
    '%s of a list',
    async (name, { api }) => {
      expectViolations(await api.get(`/orders?${name}=a%00b`), { [name]: UNSAFE });
    },
  );

  test('but not in an amount, which is not a text', async ({ service, merchant }) => {
    expectViolations(await withAmount(service, merchant, '"5\\u0000"'), { amount: NO_NUMBER });
  });
});

describe('every other operation validates its input too', () => {
  const AT_MOST = (count: number) => `must be at most ${count} characters`;
  const REQUIRED = (least: number, most: number) =>
    `must be ${least} to ${most} characters and not blank`;
  const SECONDS = 'must be a whole number from 1 to 2592000';

  test.for([
    ['/orders/{id}/deliver', 'trackingId', AT_MOST(200), ['x'.repeat(201), 5]],
    ['/orders/{id}/deliver', 'note', AT_MOST(1000), ['x'.repeat(1001), []]],
    ['/orders/{id}/cancel', 'reason', AT_MOST(1000), ['x'.repeat(1001), {}]],
    ['/orders/{id}/dispute/evidence', 'text', REQUIRED(1, 5000), [undefined, null, '', ' \u3000']],
    ['/orders/{id}/dispute/evidence', 'text', REQUIRED(1, 5000), ['x'.repeat(5001), 5]],
    ['/orders/{id}/dispute/resolve', 'resolution', REQUIRED(1, 1000), [undefined, '', '\u200b']],
    ['/orders/{id}/dispute/resolve', 'resolution', REQUIRED(1, 1000), ['x'.repeat(1001), true]],
    ['/orders/{id}/refund', 'reason', REQUIRED(1, 1000), [undefined, '', 'x'.repeat(1001), 7]],
    ['/test-helpers/orders/{id}/dispute', 'reason', REQUIRED(10, 2000), [undefined, 'too short']],
    [
      '/test-helpers/orders/{id}/dispute',
      'reason',
      REQUIRED(10, 2000),
      ['x'.repeat(2001), ' '.repeat(10)],
    ],
    ['/test-helpers/orders/{id}/advance', 'seconds', SECONDS, [undefined, null, 0, -1, 1.5, '60']],
    ['/test-helpers/orders/{id}/advance', 'seconds', SECONDS, [2_592_001, 1e300, [], true]],
    ['/test-helpers/orders/{id}/decide', 'for', 'must be merchant or buyer', [undefined, '', 1]],
    ['/test-helpers/orders/{id}/chargeback', 'outcome', 'must be open, won or lost', ['', null]],
  ] as const)('%s %s: %s', async ([path, field, message, values], { api }) => {
    for (const value of values) {
      const answer = await api.post(path.replace('{id}', 'ORD0'), { [field]: value });
      expectViolations(answer, { [field]: message });
    }
  });

  const KEYED = Object.values(COMMAND_REQUESTS).map(({ path }) => path);
  test.for(['/orders', '/orders/{id}/payment-sessions', ...new Set(KEYED)])(
    'an Idempotency-Key is 1 to 255 visible ASCII characters: POST %s',
    async (path, { api }) => {
      for (const key of ['', 'with blank', 'é', 'x'.repeat(256)]) {
        const answer = await api.post(path.replace('{id}', 'ORD0'), {}, { 'Idempotency-Key': key });
        expect([answer.status, answer.body.validationErrors?.['Idempotency-Key']]).toEqual([
          400,
          'must be 1 to 255 visible ASCII characters',
        ]);
      }
    },
  );

  const WRONG_EMAIL = 'must be a valid email address; write a + as %2B';
  const WRONG_MOMENT = 'must be an ISO-8601 time such as 2026-11-20T09:30:00Z';
  test.for([
    ['page', 'must be a whole number from 0', ['-1', '1.5', 'one', '', '1e1', '0x1']],
    ['size', 'must be a whole number from 1 to 100', ['0', '101', '-1', '1.5', '', 'all']],
    ['status', 'must be an order status', ['OPEN', 'paid', '', 'DISPUTE_*']],
    ['merchantOrderId', 'must be at most 64 characters', ['x'.repeat(65)]],
    ['merchant_order_id', 'must be at most 64 characters', ['x'.repeat(65)]],
    ['buyerEmail', WRONG_EMAIL, ['asha', '', 'asha@example', 'asha+tag@example.com']],
    ['buyer_email', WRONG_EMAIL, ['asha@', 'asha+tag@example.com']],
    ['created_from', WRONG_MOMENT, ['yesterday', '2026-11-20']],
    ['created_to', WRONG_MOMENT, ['1795147200']],
    [
      'createdFrom',
      WRONG_MOMENT,
      ['yesterday', '', '2026-11-20', '2026-02-30T00:00:00Z', '2026-11-20T25:00:00Z'],
    ],
    ['createdTo', WRONG_MOMENT, ['1795147200', '2026-11-20T09:30:00', '%2B275760-09-13T00:00:00Z']],
  ] as const)('GET /orders?%s: %s', async ([name, message, values], { api }) => {
    for (const value of values) {
      expectViolations(await api.get(`/orders?${name}=${value}`), { [name]: message });
    }
    expectViolations(await api.get(`/orders?${name}=1&${name}=1`), { [name]: message });
  });

  test.for(['1000000001', '9'.repeat(17), '9'.repeat(400)])(
    'a page number that is too large gets the limit: %s',
    async (page, { api }) => {
      expectViolations(await api.get(`/orders?page=${page}`), {
        page: 'must be less than or equal to 1000000000',
      });
      expectSuccess(await api.get('/orders?page=1000000000'), 200);
    },
  );

  test.for(['createdFrom', 'createdTo', 'created_from', 'created_to'])(
    'an offset of %s whose plus was not encoded gets the right spelling',
    async (name, { api }) => {
      for (const moment of ['2026-01-01T00:00:00+05:30', '2026-01-01T00:00:00.5+0530']) {
        expectViolations(await api.get(`/orders?${name}=${moment}`), {
          [name]: `${WRONG_MOMENT}; write the + of an offset as %2B`,
        });
      }
      expectSuccess(await api.get(`/orders?${name}=2026-01-01T00:00:00%2B05:30`), 200);
    },
  );

  test('all wrong parameters of a query are reported together', async ({ api }) => {
    expectViolations(await api.get('/orders?page=-1&size=1000&status=x'), {
      page: 'must be a whole number from 0',
      size: 'must be a whole number from 1 to 100',
      status: 'must be an order status',
    });
  });

  test('distant moments select correctly and cause no server error', async ({ api }) => {
    await api.create();
    const far = [
      '0000-01-01T00:00:00Z',
      '0001-01-01T00:00:00%2B23:59',
      '9999-12-31T23:59:59-23:59',
    ];
    for (const moment of far) {
      const isPast = moment.startsWith('0');
      const from = await api.get<{ totalElements: number }>(`/orders?createdFrom=${moment}`);
      const to = await api.get<{ totalElements: number }>(`/orders?createdTo=${moment}`);
      expectSuccess(from, 200);
      expectSuccess(to, 200);
      expect([from.body.data.totalElements > 0, to.body.data.totalElements > 0]).toEqual([
        isPast,
        !isPast,
      ]);
    }
  });
});
