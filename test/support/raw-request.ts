import { Agent, request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Environment } from '../../src/domain/index.ts';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import type { ApiAnswer } from './api-client.ts';

/** A request that `fetch` would change or refuse: the path and the bytes are sent as they are. */
export interface RawRequest {
  method: string;
  /** Below the base path, sent without further encoding. */
  path: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
  environment?: Environment;
}

const agent = new Agent({ keepAlive: true, maxSockets: 4 });

/** Sends a request as a merchant, as JSON unless its headers say otherwise. */
export async function rawRequest<Data = never>(
  origin: string,
  { apiKey, apiSecret }: KeyPair,
  { method, path, body, headers = {}, environment = 'sandbox' }: RawRequest,
): Promise<ApiAnswer<Data>> {
  const { hostname, port } = new URL(origin);
  const sending = request({
    agent,
    hostname,
    port,
    method,
    path: BASE_PATHS[environment] + path,
    headers: {
      'X-API-Key': apiKey,
      'X-API-Secret': apiSecret,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(body !== undefined &&
        headers['Transfer-Encoding'] === undefined && {
          'Content-Length': String(Buffer.byteLength(body)),
        }),
      ...headers,
    },
  });
  sending.end(body);
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const fields = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(fields as [string, string][]),
    body: JSON.parse(Buffer.concat(chunks).toString('utf8') || 'null'),
  };
}
