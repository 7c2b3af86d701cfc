import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { exchange, type HttpAnswer } from '../load/client.ts';
import type { Canaries } from './canary.ts';

/** What a request is made of; a text as body is sent as it is. */
export interface CanaryRequest {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly body?: object | string;
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests as clients do, with canaries in every header that a client may choose. */
export interface CanaryClient {
  send(path: string, request?: CanaryRequest): Promise<HttpAnswer>;
  /** A request of a merchant, below the sandbox's base path. @returns the order, if it is one */
  api(keys: KeyPair, path: string, request?: CanaryRequest): Promise<Order | undefined>;
  /** How many requests had each status. */
  readonly statuses: ReadonlyMap<number, number>;
}

/** Creates a {@link CanaryClient}. */
export function createCanaryClient(origin: string, canaries: Canaries): CanaryClient {
  const statuses = new Map<number, number>();

  async function send(path: string, request: CanaryRequest = {}): Promise<HttpAnswer> {
    const { method = request.body || request.form ? 'POST' : 'GET', body, form, headers } = request;
    const content = form ? new URLSearchParams(form) : body;
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
    const answer = await exchange(origin + path, {
      method,
      headers: {
        'User-Agent': canaries.word('User-Agent header'),
        'X-Customer': canaries.word('unknown header'),
        baggage: `buyer=${canaries.word('baggage header')}`,
        tracestate: `shop=${canaries.word('tracestate header')}`,
        ...(content !== undefined && { 'Content-Type': type }),
        ...headers,
      },
      body: typeof content === 'object' ? textOf(content) : content,
    });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    return answer;
  }

  async function api(
    keys: KeyPair,
    path: string,
    request: CanaryRequest = {},
  ): Promise<Order | undefined> {
    const headers = {
      'X-API-Key': keys.apiKey,
      'X-API-Secret': keys.apiSecret,
      ...((request.body ?? request.method === 'POST') && {
        'Idempotency-Key': canaries.word('Idempotency-Key'),
      }),
      ...request.headers,
    };
    const answer = await send(`${BASE_PATHS.sandbox}${path}`, { ...request, headers });
    if (answer.status >= 300 || answer.status === 0) return undefined;
    return (JSON.parse(answer.text) as { data: Order }).data;
  }

  return { send, api, statuses };
}

const textOf = (content: object | URLSearchParams) =>
  content instanceof URLSearchParams ? content.toString() : JSON.stringify(content);
