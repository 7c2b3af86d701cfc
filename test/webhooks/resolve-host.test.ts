import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDnsLookup, resolveAllowed } from '../../src/webhooks/sending/resolve-host.ts';
import { UNTIL_MS } from '../support/time-limits.ts';

const TYPE_A = 1;
const TYPE_AAAA = 28;
const NAME_ERROR = 3;

/** One answer record: the name of the question (0xc00c), class IN, TTL one second. */
function recordOf(type: number, address: number[]): Buffer {
  const fixed = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 1, 0, address.length]);
  return Buffer.concat([fixed, Buffer.from(address)]);
}

/** A response to a question, with all records of the requested type. */
function answerTo(query: Buffer, records: number[][], errorCode = 0): Buffer {
  const questionEnd = query.indexOf(0, 12) + 5;
  const type = query.readUInt16BE(questionEnd - 4);
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180 | errorCode, 2);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  const answers = records.map((address) => recordOf(type, address));
  return Buffer.concat([header, query.subarray(12, questionEnd), ...answers]);
}

type Answer = Buffer | undefined;

/** A name server on loopback that responds to each type as configured, later, or not at all. */
async function startNameServer(answer: (type: number, query: Buffer) => Answer | Promise<Answer>) {
  const server = createSocket('udp4', async (query, sender) => {
    const type = query.readUInt16BE(query.indexOf(0, 12) + 1);
    const reply = await answer(type, query);
    if (reply) server.send(reply, sender.port, sender.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${server.address().port}`;
}

const IPV4 = [[93, 184, 215, 14]];
const IPV6 = [[0x26, 6, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x11]];

describe('the DNS lookup', () => {
  test('finds the addresses of both families', async () => {
    const server = await startNameServer((type, query) =>
      answerTo(query, type === TYPE_AAAA ? IPV6 : IPV4),
    );
    const found = await createDnsLookup(3000, [server])('hooks.example.com');
    expect(found.toSorted()).toEqual(['2606:4700::1111', '93.184.215.14']);
  });

  test('returns the addresses of one family if the other fails', async () => {
    const server = await startNameServer((type, query) =>
      type === TYPE_A ? answerTo(query, IPV4) : answerTo(query, [], NAME_ERROR),
    );
    expect(await createDnsLookup(3000, [server])('hooks.example.com')).toEqual(['93.184.215.14']);
  });

  test('returns the addresses of one family if the name server does not respond for the other', async () => {
    const server = await startNameServer((type, query) =>
      type === TYPE_A ? answerTo(query, IPV4) : undefined,
    );
    const options = { lookup: createDnsLookup(3000, [server]), allowedCidrs: [] };
    expect(await resolveAllowed('hooks.example.com', options)).toEqual(['93.184.215.14']);
  });

  test('finds nothing if there is no address, or no response', async () => {
    const unknown = await startNameServer((_type, query) => answerTo(query, [], NAME_ERROR));
    expect(await createDnsLookup(3000, [unknown])('hooks.example.com')).toEqual([]);
    const silent = await startNameServer(() => undefined);
    const lookup = createDnsLookup(200, [silent]);
    expect(await lookup('hooks.example.com')).toEqual([]);
    await expect(resolveAllowed('hooks.example.com', { lookup, allowedCidrs: [] })).rejects.toThrow(
      'the host name cannot be resolved',
    );
  });

  test('is not delayed by other merchants whose name servers do not respond', async () => {
    const silence = Promise.withResolvers<void>();
    const server = await startNameServer(async (type, query) => {
      if (!query.includes('silent')) return answerTo(query, type === TYPE_A ? IPV4 : []);
      await silence.promise;
      return answerTo(query, [], NAME_ERROR);
    });
    const lookup = createDnsLookup(UNTIL_MS, [server]);
    let silentEnded = 0;
    const silent = Array.from({ length: 100 }, async (_, index) => {
      await lookup(`silent-${index}.example.com`);
      silentEnded += 1;
    });
    expect(await lookup('hooks.example.com')).toEqual(['93.184.215.14']);
    expect(silentEnded).toBe(0);
    silence.resolve();
    await Promise.all(silent);
  });
});
