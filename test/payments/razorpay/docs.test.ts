import { describe, expect, test } from 'vitest';
import { readPages } from '../../../dev/razorpay-docs/pages.ts';
import { faultOfSample } from '../../../dev/razorpay-docs/read-sample.ts';
import { jsonSamples } from '../../../dev/razorpay-docs/samples.ts';
import { read } from '../../repository/files.ts';

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
const faultOf = (body: unknown) => faultOfSample(JSON.stringify(body));

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
  expect(samples.map(({ number }) => number)).toEqual([1, 2, 3]);
  expect(samples.map(({ text }) => JSON.parse(text) as unknown)).toEqual([
    payment(),
    error,
    ['words'],
  ]);
});

describe('a sample', () => {
  const list = (...items: object[]) => ({ entity: 'collection', count: items.length, items });
  const transfer = {
    id: 'trf_QmT5aBcDeFgHi1',
    entity: 'transfer',
    transfer_status: 'failed',
    amount: 100,
    on_hold: false,
    error: { code: 'BAD_REQUEST_ERROR' },
  };

  test.for<[string, unknown]>([
    ['an entity', payment()],
    ['a payment that has failed', payment({ status: 'failed' })],
    ['a transfer with an error', transfer],
    ['a list', list(transfer)],
    ['entities inside another', { entity: 'order', transfers: list(transfer) }],
    [
      'a linked account',
      {
        id: 'acc_1',
        type: 'route',
        legal_business_name: 'Acme',
        status: 'created',
        created_at: 1_611_136_837,
      },
    ],
    ['an event', event('payment.captured')],
    ['an event that is ignored, with entities', event('payment.authorized')],
    ['a refusal', error],
    ['another entity', { id: 'card_1', entity: 'card' }],
    ['an example of a parameter', ['doc_1']],
  ])('without a fault: %s', ([, body]) => {
    expect(faultOf(body)).toBeUndefined();
  });

  test.for<[string, unknown, RegExp]>([
    ['an unknown status', payment({ status: 'settled' }), /^status: /],
    ['an unknown status of a transfer', { ...transfer, transfer_status: 'new' }, /status: /],
    [
      'an unknown status inside another entity',
      { entity: 'order', payments: list(payment({ status: 'settled' })) },
      /^status: /,
    ],
    ['an unknown status in an event', event('payment.captured', { status: 'settled' }), /status: /],
    [
      'an unknown status in an event that is ignored',
      event('payment.authorized', { status: 'settled' }),
      /status: /,
    ],
    ['a linked account without a status', { id: 'acc_1', type: 'route' }, /status: /],
    ['an item of a list that lacks its entity', list(payment(), { id: 'pay_1' }), /^entity: /],
    ['an error of another form', { success: false, errors: ['Wrong'] }, /^error: /],
  ])('with a fault: %s', ([, body, fault]) => {
    expect(faultOf(body)).toMatch(fault);
  });

  test('with a fault: not JSON', () => {
    expect(faultOfSample('{ "id": "pay_1", // a comment\n}')).toMatch(/^not JSON: /);
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
        fault: faultOfSample(sample.text),
      })),
    );
    const notRead = samples.filter(({ fault }) => fault !== undefined);
    expect(notRead.filter(({ place }) => !known.includes(place))).toEqual([]);
    expect(notRead.map(({ place }) => place).toSorted()).toEqual(known.toSorted());
  },
);
