import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { onTestFinished } from 'vitest';
import { memoryStore, nodeHandler, verify, webHandler } from '../../sdk/typescript/src/index.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Serves a receiver until the test ends. @returns its URL */
export async function served(handle: Handle): Promise<string> {
  const server = createServer((request, response) => {
    handle(request, response).catch(() => answer(response, 500));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('It listens on no port');
  return `http://127.0.0.1:${address.port}/hook`;
}

function answer(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.end();
}

export async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const isRight = (body: string, request: IncomingMessage, secret: string, nowMs = Date.now()) =>
  verify(body, request.headers, secret, { nowMs }).then(
    () => true,
    () => false,
  );

interface Parsed {
  event: string;
  event_id: string;
  sequence: number;
  data: { order_number: string };
}

/** A receiver that is right but for one mistake. */
const mistaken = (
  secret: string,
  status: (parsed: Parsed, seen: Set<string>) => number,
): Handle => {
  const seen = new Set<string>();
  return async (request, response) => {
    const body = await read(request);
    if (!(await isRight(body, request, secret))) return answer(response, 401);
    return answer(response, status(JSON.parse(body) as Parsed, seen));
  };
};

/** Receivers with one mistake each, and the probe of `payorders prove` that finds it. */
export const MISTAKES: Readonly<
  Record<string, { probe: string; make: (secret: string) => Handle }>
> = {
  'verifies nothing': {
    probe: 'tampered',
    make: () => async (request, response) => {
      await read(request);
      answer(response, 200);
    },
  },
  'accepts what has no signature': {
    probe: 'unsigned',
    make: (secret) => async (request, response) => {
      const body = await read(request);
      const isSigned = request.headers['x-service-signature'] !== undefined;
      answer(response, isSigned && !(await isRight(body, request, secret)) ? 401 : 200);
    },
  },
  'does not look at the time': {
    probe: 'stale',
    make: (secret) => async (request, response) => {
      const body = await read(request);
      const nowMs = Number(request.headers['x-service-timestamp']) * 1000;
      answer(response, (await isRight(body, request, secret, nowMs)) ? 200 : 401);
    },
  },
  'verifies the body that it has parsed': {
    probe: 'reserialised',
    make: (secret) => async (request, response) => {
      const body = JSON.stringify(JSON.parse(await read(request)));
      answer(response, (await isRight(body, request, secret)) ? 200 : 401);
    },
  },
  'uses the secret without its prefix': {
    probe: 'valid',
    make: (secret) => async (request, response) => {
      const body = await read(request);
      answer(response, (await isRight(body, request, secret.slice(6))) ? 200 : 401);
    },
  },
  'refuses a duplicate': {
    probe: 'duplicate',
    make: (secret) =>
      mistaken(secret, ({ event_id: id }, seen) => {
        if (seen.has(id)) return 409;
        seen.add(id);
        return 200;
      }),
  },
  'refuses an earlier event after a later one': {
    probe: 'reordered',
    make: (secret) =>
      mistaken(secret, ({ sequence }, seen) => {
        if (sequence === 1 && seen.has('2')) return 422;
        seen.add(String(sequence));
        return 200;
      }),
  },
  'refuses an event that it does not know': {
    probe: 'unknown',
    make: (secret) => mistaken(secret, ({ event }) => (event === 'TEST' ? 200 : 400)),
  },
  'takes small bodies only': {
    probe: 'large',
    make: (secret) => async (request, response) => {
      const body = await read(request);
      if (Buffer.byteLength(body) > 16_384) return answer(response, 413);
      return answer(response, (await isRight(body, request, secret)) ? 200 : 401);
    },
  },
  'does not answer': {
    probe: 'slow',
    make: () => async (request) => void (await read(request)),
  },
};

/** Receivers without a mistake: the handlers of the SDK, and one made by hand. */
export const RIGHT: Readonly<Record<string, (secret: string) => Handle>> = {
  'the handler of node:http': (secret) =>
    nodeHandler({ secrets: secret, store: memoryStore(), onEvent: () => undefined }),
  'the handler of the web standard': (secret) => {
    const handler = webHandler({
      secrets: ['whsec_of-before', secret],
      store: memoryStore(),
      onEvent: () => undefined,
    });
    return async (request, response) => {
      const body = await read(request);
      const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      const { status } = await handler(
        new Request('http://shop.example/hook', { method: 'POST', body, headers }),
      );
      answer(response, status);
    };
  },
  'a receiver made by hand': (secret) => mistaken(secret, () => 204),
};
