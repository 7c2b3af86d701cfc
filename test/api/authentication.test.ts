import { describe, expect, onTestFinished } from 'vitest';
import type { Environment } from '../../src/domain/index.ts';
import { createAuthenticate, findKeyHolders } from '../../src/merchants/keys/authenticate.ts';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { rotateSecret } from '../../src/merchants/keys/keys.ts';
import { setOrigins } from '../../src/merchants/origins.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { createApiClient } from '../support/api-client.ts';
import { startApiInstance, startLimitedApi } from '../support/api-instance.ts';
import { countingCrypto, countingSql } from '../support/counted-work.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { expectRefusal, expectSuccess, expectViolations } from './expectations.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } }).extend(
  'other',
  { scope: 'file' },
  ({ service }) => newMerchant(service),
);

const newMerchant = (service: TestService) => service.newMerchant({ webhooks: false });
const admin = (service: TestService) => ({ sql: service.sql, actor: TEST_ACTOR });
const ORDERS = '/sandbox/api/merchant/v1/orders';

async function listWith({ origin }: TestService, headers: Record<string, string>) {
  const response = await fetch(origin + ORDERS, { headers });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: Object.fromEntries(response.headers), body };
}

const keyOf = (apiKey: string, apiSecret: string) => ({
  'X-API-Key': apiKey,
  'X-API-Secret': apiSecret,
});

/** Credentials whose form is right, and others whose form is unknown: their responses must not differ. */
function nobodies(merchant: Merchant, other: Merchant): Record<string, Record<string, string>> {
  const { sandbox } = merchant.keys;
  const utf8AsLatin1 = Buffer.from('mk_test_₹ключ😀').toString('latin1');
  return {
    'an unknown key': keyOf(`mk_test_${'a'.repeat(36)}`, sandbox.apiSecret),
    'a wrong secret': keyOf(sandbox.apiKey, `sk_test_${'a'.repeat(36)}`),
    'a secret with one more character': keyOf(sandbox.apiKey, `${sandbox.apiSecret}a`),
    'a secret with one character less': keyOf(sandbox.apiKey, sandbox.apiSecret.slice(0, -1)),
    "another merchant's secret": keyOf(sandbox.apiKey, other.keys.sandbox.apiSecret),
    'the key in capitals': keyOf(sandbox.apiKey.toUpperCase(), sandbox.apiSecret),
    'non-ASCII nonsense as the key': keyOf('\u00ff\u00fe\u0080', sandbox.apiSecret),
    'non-ASCII nonsense as the secret': keyOf(sandbox.apiKey, '\u00ff\u00fe\u0080'),
    'UTF-8 beyond Latin-1': keyOf(utf8AsLatin1, utf8AsLatin1.replace('mk', 'sk')),
    'SQL as the key': keyOf("' OR '1'='1", sandbox.apiSecret),
    'ten thousand characters': keyOf('a'.repeat(5_000), 'b'.repeat(5_000)),
  };
}

describe('who may call', () => {
  test('a 401 says which header is missing, swapped or of the other environment', async ({
    service,
    merchant: { keys },
  }) => {
    const unknown = { sandbox: `mk_test_${'a'.repeat(36)}`, secret: `sk_test_${'a'.repeat(36)}` };
    const { sandbox, production } = keys;
    const messageFor = async (headers: Record<string, string>) => {
      const { status, headers: answered, body } = await listWith(service, headers);
      expect([status, answered['x-error-code']]).toEqual([401, 'UNAUTHORIZED']);
      return body['message'];
    };
    for (const [headers, message] of [
      [{}, 'The X-API-Key and X-API-Secret headers are missing'],
      [{ 'X-API-Key': sandbox.apiKey }, 'The X-API-Secret header is missing'],
      [{ 'X-API-Secret': sandbox.apiSecret }, 'The X-API-Key header is missing'],
      [keyOf(sandbox.apiSecret, sandbox.apiKey), 'X-API-Key and X-API-Secret are swapped'],
      [keyOf(sandbox.apiSecret, sandbox.apiSecret), 'X-API-Key contains an API secret'],
      [keyOf(sandbox.apiKey, sandbox.apiKey), 'X-API-Secret contains an API key'],
      [
        keyOf(production.apiKey, production.apiSecret),
        'X-API-Key is a production key; this is the sandbox',
      ],
      [
        keyOf(sandbox.apiKey, production.apiSecret),
        'X-API-Secret is a production secret; this is the sandbox',
      ],
      // The message depends on the form alone: it is the same for unknown credentials.
      [keyOf(unknown.secret, unknown.sandbox), 'X-API-Key and X-API-Secret are swapped'],
    ] as const) {
      expect(await messageFor(headers)).toBe(message);
    }
  });

  test('every kind of invalid credentials gets the same 401, headers included', async ({
    service,
    merchant,
    other,
  }) => {
    const answers = [];
    for (const [what, headers] of Object.entries(nobodies(merchant, other))) {
      const answer = await listWith(service, headers);
      const { timestamp, ...body } = answer.body;
      expect([what, answer.status, timestamp]).toEqual([what, 401, expect.any(String)]);
      const { date: _date, 'x-request-id': _requestId, ...sameHeaders } = answer.headers;
      answers.push({ body, headers: sameHeaders });
    }
    expect(answers[0]?.body).toEqual({
      success: false,
      message: 'Invalid API key or secret',
      data: null,
    });
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test('keys that are read in one statement have each their own holder', async ({
    service: { sql },
    merchant,
    other,
  }) => {
    const unknown = [
      '',
      '"',
      "'",
      String.raw`\\"`,
      '{}',
      'NULL',
      'a,b',
      '\u00ff',
      'a'.repeat(5000),
    ];
    const known = [merchant, other, merchant].map(({ keys }) => keys.sandbox.apiKey);
    const holders = await findKeyHolders(sql, 'sandbox', [...known, ...unknown]);
    expect(holders.map(({ isKnown, merchantId }) => isKnown && merchantId)).toEqual([
      ...[merchant, other, merchant].map(({ merchantId }) => merchantId),
      ...unknown.map(() => false),
    ]);
  });

  test('an unknown key takes the same statements, hashes and lengths as a wrong secret or another environment', async ({
    service,
    merchant,
  }) => {
    const { sandbox, production } = merchant.keys;
    const { sql, statements } = countingSql(service.env.DATABASE_URL);
    const { calls, stop } = countingCrypto();
    onTestFinished(stop);
    const pepper = `a new pepper,${service.config.apiSecretPepper}`;
    const authenticate = createAuthenticate({ sql, pepper });
    const workOf = async (wrong: { apiKey: string; apiSecret: string }) => {
      const [row] = await findKeyHolders(sql, 'sandbox', [wrong.apiKey]);
      statements.length = 0;
      calls.length = 0;
      const given = { environment: 'sandbox', origin: undefined, ...wrong } as const;
      await expect(authenticate(given)).rejects.toHaveProperty('code', 'UNAUTHORIZED');
      // A row of another size would take another time; a merchant's name has any length.
      const {
        name: _name,
        status: _status,
        isKnown: _k,
        isReady: _r,
        failsAfterWork: _f,
        isUseDue: _u,
        ...same
      } = row!;
      const lengths = Object.entries(same).map(([column, value]) => [column, value.length]);
      return { statements: [...statements], crypto: [...calls], lengths };
    };
    // The first statement of a connection is preceded by the driver's own.
    await workOf(production);
    const wrongSecret = await workOf({ ...sandbox, apiSecret: `sk_test_${'a'.repeat(36)}` });
    expect(wrongSecret.statements).toHaveLength(1);
    // Each pepper is tried.
    const comparison = [
      ['createHmac', 'sha256'],
      ['timingSafeEqual', 32, 32],
    ];
    expect(wrongSecret.crypto).toEqual([...comparison, ...comparison]);
    expect(await workOf({ ...sandbox, apiKey: `mk_test_${'a'.repeat(36)}` })).toEqual(wrongSecret);
    expect(await workOf(production)).toEqual(wrongSecret);
    await sql.end();
  });

  test.for([
    // Its approval is revoked.
    ['reject', 'Merchant account is not active'],
    ['suspend', 'Merchant account is not active'],
  ] as const)(
    'a merchant after %s is 403 "%s", and is accepted immediately after its approval',
    async ([change, message], { service }) => {
      const { merchantId, sandbox, production } = await newMerchant(service);
      await changeMerchantStatus(admin(service), merchantId, change, {
        reason: 'Documents missing',
      });
      for (const client of [sandbox, production]) {
        expectRefusal(await client.get('/orders'), 403, message);
      }
      const back = change === 'suspend' ? 'activate' : 'approve';
      await changeMerchantStatus(admin(service), merchantId, back);
      expectSuccess(await sandbox.get('/orders'), 200);
    },
  );

  test('a merchant whose approval was revoked is not active until it is approved again, also with a new application', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await newMerchant(service);
    await changeMerchantStatus(admin(service), merchantId, 'reject', {
      reason: 'Forged documents',
    });
    await service.sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
    expectRefusal(await sandbox.get('/orders'), 403, 'Merchant account is not active');
    await changeMerchantStatus(admin(service), merchantId, 'reject', { reason: 'Forged again' });
    expectRefusal(await sandbox.get('/orders'), 403, 'Merchant account is not active');
    await changeMerchantStatus(admin(service), merchantId, 'approve');
    await service.sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
    expectRefusal(await sandbox.get('/orders'), 403, 'Merchant must be approved first');
  });

  test('a wrong secret of a merchant that is not approved is 401, which does not reveal its status', async ({
    service,
  }) => {
    const { merchantId, keys } = await newMerchant(service);
    await changeMerchantStatus(admin(service), merchantId, 'suspend');
    const wrong = { ...keys.sandbox, apiSecret: 'sk_test_wrong' };
    const client = createApiClient(service.origin, wrong, 'sandbox');
    expectRefusal(await client.get('/orders'), 401, 'Invalid API key or secret');
  });
});

describe('the approved-domain list', () => {
  const REFUSED = 'Access denied: Origin not allowed';
  const callFrom = (client: Merchant['sandbox'], origin: string) =>
    client.call('GET', '/orders', undefined, { Origin: origin });

  test('without a list every Origin may call', async ({ merchant }) => {
    expectSuccess(await callFrom(merchant.sandbox, 'https://anywhere.example'), 200);
  });

  test('an Origin on the list may call, any other is 403, and no Origin is never blocked', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await newMerchant(service);
    await setOrigins(admin(service), merchantId, 'sandbox', [
      'https://shop.example',
      'pay.example',
    ]);
    for (const origin of ['https://shop.example', 'https://pay.example']) {
      expectSuccess(await callFrom(sandbox, origin), 200);
    }
    for (const origin of [
      'https://evil.example',
      'http://shop.example',
      'https://shop.example.evil.example',
      'https://shop.example:8443',
      'https://sub.shop.example',
      'null',
      '\u00ff',
    ]) {
      expectRefusal(await callFrom(sandbox, origin), 403, REFUSED);
    }
    expectSuccess(await sandbox.get('/orders'), 200);
  });

  test('each environment has a separate list', async ({ service }) => {
    const { merchantId, sandbox, production } = await newMerchant(service);
    await setOrigins(admin(service), merchantId, 'production', ['https://shop.example']);
    expectSuccess(await callFrom(sandbox, 'https://test.example'), 200);
    expectRefusal(await callFrom(production, 'https://test.example'), 403, REFUSED);
  });

  test('an emptied list lets every Origin call again', async ({ service }) => {
    const { merchantId, sandbox } = await newMerchant(service);
    await setOrigins(admin(service), merchantId, 'sandbox', ['https://shop.example']);
    await setOrigins(admin(service), merchantId, 'sandbox', []);
    expectSuccess(await callFrom(sandbox, 'https://anywhere.example'), 200);
  });
});

describe('rotation', () => {
  test('the old secret is 401 on the very next request, on every API process', async ({
    service,
  }) => {
    const { merchantId, keys, sandbox } = await newMerchant(service);
    const second = await startApiInstance(service);
    const processes = [sandbox, second.as(keys)];
    for (const client of processes) expectSuccess(await client.get('/orders'), 200);
    const deps = { ...admin(service), pepper: service.config.apiSecretPepper ?? '' };
    const rotated = await rotateSecret(deps, merchantId, 'sandbox');
    for (const client of processes) {
      expectRefusal(await client.get('/orders'), 401, 'Invalid API key or secret');
    }
    const renewed = { ...keys, sandbox: rotated };
    expectSuccess(await second.as(renewed).get('/orders'), 200);
    expect(rotated.apiKey).toBe(keys.sandbox.apiKey);
    expectSuccess(await second.as(renewed, 'production').get('/orders'), 200);
    await second.stop();
  });
});

describe('the order of the checks', () => {
  /** A request with every fault; the faults are corrected one by one, from the first check on. */
  async function callWith(service: TestService, other: Merchant, mended: number) {
    const wrong = await newMerchant(service);
    const theirs = await other.sandbox.create();
    const own = await wrong.sandbox.create();
    if (mended < 2) await changeMerchantStatus(admin(service), wrong.merchantId, 'suspend');
    await setOrigins(admin(service), wrong.merchantId, 'sandbox', ['https://shop.example']);
    const keys = mended < 1 ? { ...wrong.keys.sandbox, apiSecret: 'x' } : wrong.keys.sandbox;
    const orders = { 6: theirs.order_number, 7: own.order_number } as Record<number, string>;
    const environment: Environment = 'sandbox';
    return createApiClient(service.origin, keys, environment).call(
      'POST',
      `/orders/${orders[mended] ?? 'ORD0'}/dispute/resolve`,
      { resolution: mended < 5 ? ' ' : 'Sent again' },
      {
        ...(mended < 3 && { Origin: 'https://evil.example' }),
        ...(mended < 4 && { 'X-API-Version': '1999-01-01' }),
      },
    );
  }

  test.for([
    [0, 401, 'Invalid API key or secret'],
    [1, 403, 'Merchant account is not active'],
    [2, 403, 'Access denied: Origin not allowed'],
    [3, 400, 'Unsupported API version'],
    [5, 404, 'Order not found: ORD0'],
    [6, 403, 'Access denied: this order does not belong to your merchant account'],
  ] as const)(
    'with %i faults corrected, the response is about the next one: %i %s',
    async ([mended, status, message], { service, other }) => {
      expectRefusal(await callWith(service, other, mended), status, message);
    },
  );

  test('with the version corrected, the response is about the input: 400 with its violations', async ({
    service,
    other,
  }) => {
    expectViolations(await callWith(service, other, 4), {
      resolution: 'must be 1 to 1000 characters and not blank',
    });
  });

  test('the status of the order is checked last: 400 with its message', async ({
    service,
    other,
  }) => {
    const worker = await service.startWorker();
    const answer = await callWith(service, other, 7);
    await worker.stop();
    expectRefusal(answer, 400, 'Cannot resolve; order must be in DISPUTE status');
  });

  test('the rate limit is checked before all of them', async ({ service }) => {
    const limited = await startLimitedApi(service, 2);
    const nobody = createApiClient(limited.origin, { apiKey: 'x', apiSecret: 'y' }, 'sandbox');
    const answers = [];
    for (let sent = 0; sent < 3; sent += 1) answers.push(await nobody.get('/nothing'));
    await limited.stop();
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 429]);
  });
});
