import { EXAMPLE_ORDERS, exampleEventId } from '../orders/public.ts';

/** One operation as a program calls it, for `x-codeSamples`. */
export interface CodeSample {
  readonly lang: 'javascript' | 'python' | 'go';
  readonly label: 'Node' | 'Python' | 'Go';
  readonly source: string;
}

type Value = string | number;

/** A call of the SDKs, which have the same names in each language. */
interface Call {
  readonly resource: 'orders' | 'disputes' | 'events' | 'statements' | 'sandbox';
  readonly method: string;
  /** Texts in their order. */
  readonly words?: readonly string[];
  /** Named in TypeScript and Python. */
  readonly fields?: Readonly<Record<string, Value>>;
  /** The arguments of Go behind the words, if they are not the values of the fields. */
  readonly go?: string;
  /** The name of a field in Python, where it differs. */
  readonly python?: Readonly<Record<string, string>>;
}

const ORDER = EXAMPLE_ORDERS.created.order_number;
const SESSION = 'ps_01M7W4Q010D3F5G7H9J1K2M4N6';
const { created } = EXAMPLE_ORDERS;

const capital = (name: string) => name.replace(/^./, (letter) => letter.toUpperCase());
const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const inSingleQuotes = (value: Value) =>
  typeof value === 'number' ? String(value) : `'${value.replaceAll("'", String.raw`\'`)}'`;
const inDoubleQuotes = (value: Value) => JSON.stringify(value);

const onOrder = (
  resource: Call['resource'],
  method: string,
  more: Omit<Call, 'resource' | 'method' | 'words'> = {},
): Call => ({ resource, method, words: [ORDER], ...more });
const helper = (method: string, more: Omit<Call, 'resource' | 'method' | 'words'> = {}) =>
  onOrder('sandbox', method, more);

const CALLS: Readonly<Record<string, Call>> = {
  createOrder: {
    resource: 'orders',
    method: 'create',
    fields: {
      amount: '499.50',
      buyerEmail: created.buyer.email,
      buyerPhone: created.buyer.phone,
      description: created.description,
    },
    go: `payorders.CreateOrder{
	Amount: 49950, // paise
	BuyerEmail: "${created.buyer.email}",
	BuyerPhone: "${created.buyer.phone}",
	Description: "${created.description}",
}`,
  },
  getOrder: onOrder('orders', 'get'),
  getOrderTimeline: onOrder('orders', 'timeline'),
  deliverOrder: onOrder('orders', 'deliver', {
    fields: { trackingId: 'IN123456789' },
    go: 'payorders.Delivery{TrackingID: "IN123456789"}',
  }),
  cancelOrder: onOrder('orders', 'cancel', { fields: { reason: 'Sold out' } }),
  refundOrder: onOrder('orders', 'refund', { fields: { reason: 'Sold out' } }),
  openPaymentSession: onOrder('orders', 'openPaymentSession'),
  getPaymentSession: { resource: 'orders', method: 'getPaymentSession', words: [ORDER, SESSION] },
  submitEvidence: onOrder('disputes', 'submitEvidence', {
    fields: { text: 'The courier has a photo of the delivery' },
  }),
  resolveDispute: onOrder('disputes', 'resolve', {
    fields: { resolution: 'A new one is on its way' },
  }),
  acceptDispute: onOrder('disputes', 'accept'),
  getEvent: { resource: 'events', method: 'get', words: [exampleEventId(3)] },
  resendEvent: { resource: 'events', method: 'resend', words: [exampleEventId(3)] },
  getStatement: {
    resource: 'statements',
    method: 'get',
    words: ['2026-11-20'],
    fields: { size: 100 },
    go: 'payorders.StatementQuery{Size: 100}',
  },
  testPay: helper('pay'),
  testFailPayment: helper('failPayment'),
  testDispute: helper('dispute', { fields: { reason: 'It never arrived at my door' } }),
  testAdvance: helper('advance', { fields: { seconds: 86_400 } }),
  testDecide: helper('decide', { fields: { for: 'merchant' }, python: { for: 'winner' } }),
  testChargeback: helper('chargeback', { fields: { outcome: 'open' } }),
  testLatePayment: helper('latePayment'),
  testSecondPayment: helper('secondPayment'),
  testFailRefund: helper('failRefund'),
  testFailAfterWork: { resource: 'sandbox', method: 'failAfterWork' },
};

function nodeOf({ resource, method, words = [], fields }: Call): string {
  const named = Object.entries(fields ?? {}).map(
    ([name, value]) => `${name}: ${inSingleQuotes(value)}`,
  );
  const body =
    named.length > 1 ? [`{\n  ${named.join(',\n  ')},\n}`] : named.map((one) => `{ ${one} }`);
  return `await client.${resource}.${method}(${[...words.map(inSingleQuotes), ...body].join(', ')});`;
}

function pythonOf({ resource, method, words = [], fields, python = {} }: Call): string {
  const named = Object.entries(fields ?? {}).map(
    ([name, value]) => `${python[name] ?? snake(name)}=${inDoubleQuotes(value)}`,
  );
  const given = [...words.map(inDoubleQuotes), ...named];
  const listed = named.length > 1 ? `\n    ${given.join(',\n    ')},\n` : given.join(', ');
  return `client.${resource}.${snake(method)}(${listed})`;
}

function goOf({ resource, method, words = [], fields = {}, go }: Call): string {
  const values = go === undefined ? Object.values(fields).map(inDoubleQuotes) : [go];
  const given = ['ctx', ...words.map(inDoubleQuotes), ...values].join(', ');
  const result = method === 'resend' || method === 'failAfterWork' ? 'err' : 'result, err';
  const owner = resource === 'sandbox' ? 'Sandbox()' : capital(resource);
  return `${result} := client.${owner}.${capital(method)}(${given})`;
}

const samples = (node: string, python: string, go: string): CodeSample[] => [
  { lang: 'javascript', label: 'Node', source: node },
  { lang: 'python', label: 'Python', source: python },
  { lang: 'go', label: 'Go', source: go },
];

/** The samples of each operation in TypeScript, Python and Go, with the SDKs of `sdk/`. */
export const CODE_SAMPLES: Readonly<Record<string, readonly CodeSample[]>> = {
  ...Object.fromEntries(
    Object.entries(CALLS).map(([operationId, call]) => [
      operationId,
      samples(nodeOf(call), pythonOf(call), goOf(call)),
    ]),
  ),
  listOrders: samples(
    `for await (const order of client.orders.list({ status: 'PAID' })) {\n  console.log(order.order_number);\n}`,
    `for order in client.orders.list(status="PAID"):\n    print(order["order_number"])`,
    `for order, err := range client.Orders.List(payorders.OrderFilter{Status: "PAID"}).All(ctx) {\n\tfmt.Println(order.OrderNumber, err)\n}`,
  ),
  listEvents: samples(
    `const { content, next } = await client.events.list({ size: 100 }).page();`,
    `page = client.events.list(size=100).page()`,
    `page, err := client.Events.List(payorders.EventFilter{Size: 100}).Page(ctx)`,
  ),
};
