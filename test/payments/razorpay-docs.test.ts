import { describe, expect, test } from 'vitest';
import { readPages } from '../../dev/razorpay-docs/pages.ts';
import { readSample } from '../../dev/razorpay-docs/read-sample.ts';
import { jsonSamples } from '../../dev/razorpay-docs/samples.ts';
import { read } from '../repository/files.ts';

const payment = (own: object = {}) => ({
  id: 'pay_QmT4x8LwZ2cVb7',
  entity: 'payment',
  status: 'captured',
  amount: 49_950,
  currency: 'INR',
  ...own,
});
const error = { error: { code: 'BAD_REQUEST_ERROR', description: 'The api key is invalid' } };
const event = (name: string, own: object = {}) => ({
  entity: 'event',
  event: name,
  payload: { payment: { entity: payment(own) } },
});
const readBody = (body: unknown) => readSample(JSON.stringify(body));

const PAGE = `# Fetch a Payment

### Request

\`\`\`curl: Curl
curl https://api.razorpay.com/v1/payments/pay_1

\`\`\`ruby: Ruby
{ "this" => "is no JSON" }
\`\`\`

### Response

\`\`\`json: Success
${JSON.stringify(payment(), null, 2)}

\`\`\`JSON: Failure
${JSON.stringify(error)}
\`\`\`
Words in between.

    \`\`\`json: Example
    ["words"]
    \`\`\`
`;

test('the JSON blocks of a page are found, also where the next one ends them', () => {
  const samples = jsonSamples(PAGE);
  expect(samples.map(({ number, title }) => `${number} ${title}`)).toEqual([
    '1 Success',
    '2 Failure',
    '3 Example',
  ]);
  expect(samples.map(({ text }) => JSON.parse(text) as unknown)).toEqual([
    payment(),
    error,
    ['words'],
  ]);
});

describe('a sample is', () => {
  const list = (...items: object[]) => ({ entity: 'collection', count: items.length, items });
  const transfer = {
    id: 'trf_QmT5aBcDeFgHi1',
    entity: 'transfer',
    transfer_status: 'failed',
    amount: 100,
    on_hold: false,
    error: { code: 'BAD_REQUEST_ERROR' },
  };

  test.for<[string, unknown, string, string]>([
    ['an entity', payment(), 'read', 'payment'],
    ['a payment that has failed', payment({ status: 'failed' }), 'read', 'payment'],
    ['a transfer with an error', transfer, 'read', 'transfer'],
    ['a list', list(transfer), 'read', 'transfer'],
    ['entities inside another', { entity: 'order', transfers: list(transfer) }, 'read', 'transfer'],
    [
      'a linked account',
      {
        id: 'acc_1',
        type: 'route',
        legal_business_name: 'Acme',
        status: 'created',
        created_at: 1_611_136_837,
      },
      'read',
      'linked account',
    ],
    ['an event', event('payment.captured'), 'read', 'payment.captured'],
    [
      'an event that is ignored, with entities',
      event('payment.authorized'),
      'read',
      'payment.authorized',
    ],
    ['a refusal', error, 'refusal', 'error'],
    ['another entity', { id: 'card_1', entity: 'card' }, 'unused', 'card'],
    ['an example of a parameter', ['doc_1'], 'unused', '–'],
  ])('%s', ([, body, outcome, what]) => {
    expect(readBody(body)).toEqual({ outcome, what });
  });

  test.for<[string, unknown, string, RegExp]>([
    ['an unknown status', payment({ status: 'settled' }), 'payment', /^status: /],
    [
      'an unknown status in an event',
      event('payment.captured', { status: 'settled' }),
      'payment.captured',
      /status: /,
    ],
    [
      'an item of a list that lacks its entity',
      list(payment(), { id: 'pay_1' }),
      'payment',
      /^entity: /,
    ],
    ['an error of another form', { success: false, errors: ['Wrong'] }, 'error', /^error: /],
  ])('not read, and why: %s', ([, body, what, reason]) => {
    expect(readBody(body)).toEqual({
      outcome: 'not read',
      what,
      reason: expect.stringMatching(reason),
    });
  });

  test('not read if it is not JSON', () => {
    expect(readSample('{ "id": "pay_1", // a comment\n}')).toMatchObject({
      outcome: 'not read',
      reason: expect.stringMatching(/^not JSON: /),
    });
  });
});

/** A checkout or a bare repository of Razorpay's documents: see docs/go-live.md. */
const documents = process.env['RAZORPAY_DOCS'] ?? '';

/** The samples of the table in docs/go-live.md, each as its page and its number. */
const known = [...read('docs/go-live.md').matchAll(/^\| `([^`\n]+)` \| (\d+) /gm)].map(
  ([, page, number]) => `${page} ${number}`,
);

test.runIf(documents !== '')(
  'every sample of the documents is read, but those of the table in docs/go-live.md',
  () => {
    const samples = readPages(documents).flatMap(({ path, text }) =>
      jsonSamples(text).map((sample) => ({
        place: `${path} ${sample.number}`,
        ...readSample(sample.text),
      })),
    );
    const notRead = samples.filter(({ outcome }) => outcome === 'not read');
    expect(notRead.filter(({ place }) => !known.includes(place))).toEqual([]);
    expect(notRead.map(({ place }) => place).toSorted()).toEqual(known.toSorted());
  },
);
