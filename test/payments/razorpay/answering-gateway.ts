import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRazorpayGateway } from '../../../src/payments/razorpay/gateway.ts';
import { KEYS } from '../gateway-harness.ts';

/** Bodies by request, such as `GET /v1/payments/pay_1`. */
export type Answers = Readonly<Record<string, unknown>>;

/** Razorpay's answer to a path that it does not have, or has not enabled for the platform. */
const NOT_FOUND = {
  error: {
    code: 'BAD_REQUEST_ERROR',
    description: 'The requested URL was not found on the server.',
  },
};

/**
 * A gateway that answers these bodies, also in forms and statuses in which the simulator never is.
 *
 * @returns the adapter for it; `requests` has the method, path and query of each request, `leftOut`
 *   what the adapter has reported as not understood
 */
export async function gatewayThatAnswers(
  answers: Answers,
  onTestFinished: (stop: () => void) => void,
) {
  const requests: string[] = [];
  const leftOut: { operation: string; message: string }[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://gateway');
    requests.push(`${request.method} ${request.url}`);
    response.setHeader('content-type', 'application/json');
    const answer = answers[`${request.method} ${pathname}`];
    response.statusCode = answer === undefined ? 400 : 200;
    response.end(JSON.stringify(answer ?? NOT_FOUND));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const settings = { baseUrl: `http://127.0.0.1:${port}`, ...KEYS };
  const gateway = createRazorpayGateway({
    ...settings,
    onNotUnderstood: async (operation, { message }) => {
      leftOut.push({ operation, message });
    },
  });
  return { gateway, settings, requests, leftOut };
}

/** A list, as every list of the gateway. */
export const collection = (...items: object[]) => ({
  entity: 'collection',
  count: items.length,
  items,
});
