import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkWebhookUrl,
  checkWebhookUrlAtSave,
  DEFAULT_DENIED_PORTS,
} from '../../src/webhooks/sending/address-guard.ts';
import type { WebhookUrlRules } from '../../src/webhooks/sending/address-guard.ts';
import { addressRefusal } from '../../src/webhooks/sending/denied-ranges.ts';
import { spellingsOfIpv4, spellingsOfIpv6, wrappingsOfIpv4 } from './spellings.ts';

type Rules = Omit<WebhookUrlRules, 'environment'>;
const CLOSED: Rules = { allowedCidrs: [], deniedPorts: DEFAULT_DENIED_PORTS };
const LOOPBACK_OPEN: Rules = {
  allowedCidrs: ['127.0.0.0/8', '::1/128'],
  deniedPorts: DEFAULT_DENIED_PORTS,
};

const isAddressAllowed = (ip: string, allowedCidrs: readonly string[]) =>
  addressRefusal(ip, allowedCidrs) === undefined;

const inSandbox = (text: string, rules = CLOSED) =>
  checkWebhookUrl(text, { environment: 'sandbox', ...rules });
const inProduction = (text: string) =>
  checkWebhookUrl(text, { environment: 'production', ...CLOSED });

/** Repeated here on purpose: a range that is missing in the source must fail here. */
const DENIED_IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['169.254.169.254', 32],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['255.255.255.255', 32],
] as const;

/** Networks as 128 bits in 32 hexadecimal digits, with the length of their prefix. */
const DENIED_IPV6 = [
  ['unspecified and IPv4-compatible', '0'.repeat(32), 96],
  ['loopback', `${'0'.repeat(31)}1`, 128],
  ['IPv4-mapped', '00000000000000000000ffff00000000', 96],
  ['IPv4-translated', '0000000000000000ffff000000000000', 96],
  ['NAT64', '0064ff9b000000000000000000000000', 96],
  ['local NAT64', '0064ff9b000100000000000000000000', 48],
  ['discard', '01000000000000000000000000000000', 64],
  ['Teredo', '20010000000000000000000000000000', 32],
  ['benchmark', '20010002000000000000000000000000', 48],
  ['ORCHID', '20010010000000000000000000000000', 28],
  ['ORCHIDv2', '20010020000000000000000000000000', 28],
  ['documentation', '20010db8000000000000000000000000', 32],
  ['6to4', '20020000000000000000000000000000', 16],
  ['AS112', '2620004f800000000000000000000000', 48],
  ['documentation (2024)', '3fff0000000000000000000000000000', 20],
  ['segment routing', '5f000000000000000000000000000000', 16],
  ['unique local', 'fc000000000000000000000000000000', 7],
  ['AWS metadata', 'fd000ec2000000000000000000000254', 128],
  ['link-local', 'fe800000000000000000000000000000', 10],
  ['site-local', 'fec00000000000000000000000000000', 10],
  ['multicast', 'ff000000000000000000000000000000', 8],
  ['everything below 2000::/3', '00000000000000000000000000000000', 3],
  ['everything from 4000::/2', '40000000000000000000000000000000', 2],
  ['everything from 8000::/1', '80000000000000000000000000000000', 1],
] as const;

const numberOf = (dotted: string) =>
  dotted.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);
const inRange = (network: bigint, prefixLength: number, bits: number) =>
  fc
    .bigInt({ min: 0n, max: (1n << BigInt(bits - prefixLength)) - 1n })
    .map((offset) => network + offset);
const dotted = (address: bigint) =>
  [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join('.');
const groups = (address: bigint) =>
  address.toString(16).padStart(32, '0').match(/.{4}/g)!.join(':');

const inBrackets = (host: string) => `[${host}]`;

/** The hosts that the guard accepts, as the connection would get them. */
const takenOf = (hosts: string[]) =>
  hosts.flatMap((host) => {
    const checked = inSandbox(`http://${host}/hook`);
    return checked.ok ? [checked.url.hostname] : [];
  });

const isDeniedIpv4 = (address: bigint) =>
  DENIED_IPV4.some(
    ([network, length]) =>
      address >> BigInt(32 - length) === numberOf(network) >> BigInt(32 - length),
  );
const isDeniedIpv6 = (address: bigint) =>
  ((address >> 32n) & 0xfcffffffn) === 0x5efen ||
  DENIED_IPV6.some(
    ([, network, length]) =>
      address >> BigInt(128 - length) === BigInt(`0x${network}`) >> BigInt(128 - length),
  );

describe('no webhook reaches a denied address, in any spelling', () => {
  test.each(DENIED_IPV4)('%s/%i, in every spelling of IPv4', (network, prefixLength) => {
    fc.assert(
      fc.property(inRange(numberOf(network), prefixLength, 32), (address) => {
        expect(isAddressAllowed(dotted(address), [])).toBe(false);
        expect(takenOf(spellingsOfIpv4(address))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test.each(DENIED_IPV4)('%s/%i, inside every kind of IPv6 address', (network, prefixLength) => {
    fc.assert(
      fc.property(
        inRange(numberOf(network), prefixLength, 32),
        fc.bigInt({ min: 0n, max: (1n << 61n) - 1n }),
        (address, random) => {
          for (const wrapped of wrappingsOfIpv4(address, random)) {
            expect([wrapped, isAddressAllowed(groups(wrapped), [])]).toEqual([wrapped, false]);
            expect(takenOf(spellingsOfIpv6(wrapped).map(inBrackets))).toEqual([]);
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  test.each(DENIED_IPV6)('%s, in every spelling of IPv6', (_name, network, prefixLength) => {
    fc.assert(
      fc.property(inRange(BigInt(`0x${network}`), prefixLength, 128), (address) => {
        expect(isAddressAllowed(groups(address), [])).toBe(false);
        expect(takenOf(spellingsOfIpv6(address).map(inBrackets))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test('each of those spellings of a public address is accepted as that address', () => {
    fc.assert(
      fc.property(inRange(numberOf('8.0.0.0'), 8, 32), (address) => {
        const spellings = spellingsOfIpv4(address);
        expect(takenOf(spellings)).toEqual(spellings.map(() => dotted(address)));
      }),
    );
    fc.assert(
      fc.property(inRange(0x2606n << 112n, 16, 128), (address) => {
        fc.pre(!isDeniedIpv6(address));
        const spellings = spellingsOfIpv6(address).map(inBrackets);
        const { hostname } = new URL(`http://[${groups(address)}]`);
        expect(takenOf(spellings)).toEqual(spellings.map(() => hostname));
      }),
    );
  });

  test('every other IPv4 address is allowed', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }), (address) => {
        expect(isAddressAllowed(dotted(address), [])).toBe(!isDeniedIpv4(address));
      }),
      { numRuns: 2000 },
    );
  });

  test('every other IPv6 address is allowed', () => {
    const anywhere = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });
    const publicBlock = inRange(0x2n << 124n, 3, 128);
    fc.assert(
      fc.property(fc.oneof(anywhere, publicBlock), (address) => {
        expect(isAddressAllowed(groups(address), [])).toBe(!isDeniedIpv6(address));
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    '',
    'localhost',
    '1.2.3',
    '0x7f000001',
    '2130706433',
    'fe80::1%eth0',
    '2606::1%lo',
    '[::1]',
  ])('what is no plain address (%j) is denied at the connection', (text) => {
    expect(isAddressAllowed(text, [])).toBe(false);
  });
});

describe('what a webhook URL may be', () => {
  test.each([
    'https://example.com/hook',
    'https://example.com',
    'HTTPS://EXAMPLE.COM/hook?shop=1&event=%20#part',
    'https://hooks.example.co.in:8443/a/@b',
    'https://example.com:80/hook',
    'https://example.com:65535/hook',
    'https://example.com:1024/hook',
    'https://caf\u00e9.example/hook',
    'https://a_b.example.com/hook',
    'https://8.8.8.8/hook',
    'https://[2606:4700::1111]/hook',
    'https://localhost.example.com/hook',
    'https://notinternal.com/hook',
    'https://notlocalhost.com/hook',
  ])('production takes %s', (text) => {
    expect(inProduction(text)).toMatchObject({ ok: true });
  });

  test('has at most 2,048 characters', () => {
    const base = 'https://example.com/';
    expect(inProduction(base.padEnd(2048, 'a')).ok).toBe(true);
    expect(inProduction(base.padEnd(2049, 'a'))).toEqual({
      ok: false,
      reason: 'must be at most 2048 characters long',
    });
  });

  test('uses http only in the sandbox', () => {
    expect(inSandbox('http://example.com/hook').ok).toBe(true);
    expect(inProduction('http://example.com/hook')).toEqual({
      ok: false,
      reason: 'must use https in production',
    });
  });

  test('loses a trailing dot of its host', () => {
    const checked = inProduction('https://example.com./hook');
    expect(checked.ok && checked.url.href).toBe('https://example.com/hook');
  });

  test.each([
    ['another scheme', 'ftp://example.com/'],
    ['another scheme', 'file:///etc/passwd'],
    ['another scheme', 'javascript:alert(1)'],
    ['another scheme', 'ws://example.com'],
    ['no scheme', 'example.com/hook'],
    ['no scheme', '//example.com/hook'],
    ['slashes that a parser mends', 'https:example.com'],
    ['slashes that a parser mends', 'https:/example.com'],
    ['slashes that a parser mends', 'https:///example.com'],
    ['nothing', ''],
    ['no host', 'https://'],
    ['no host', 'https://:443/'],
    ['no host', 'https://./'],
    ['a user', 'https://user@example.com/'],
    ['a user and a password', 'https://user:secret@example.com/'],
    ['an empty user', 'https://@example.com/'],
    ['an empty user and password', 'https://:@example.com/'],
    ['a host dressed up as a user', 'https://example.com@127.0.0.1/'],
    ['an encoded @ before the host', 'https://example.com%40127.0.0.1/'],
    ['a backslash', 'https://example.com\\@127.0.0.1/'],
    ['a backslash', 'https:\\\\example.com\\hook'],
    ['a backslash in the query', 'https://example.com/?a=\\'],
    ['a leading space', ' https://example.com/'],
    ['a trailing space', 'https://example.com/ '],
    ['a space', 'https://example.com/a b'],
    ['a tab', 'https://exam\tple.com/'],
    ['a line break', 'https://example.com/\r\nHost: evil'],
    ['a zero byte', 'https://example.com/\0'],
    ['a C1 control character', 'https://example.com/\u0085'],
    ['a half surrogate', 'https://example.com/\ud800'],
    ['a no-break space', 'https://example.com/\u00a0'],
    ['port 0', 'https://example.com:0/'],
    ['a low port', 'https://example.com:22/'],
    ['a low port', 'https://example.com:1023/'],
    ['a port that is none', 'https://example.com:65536/'],
    ['a port that is none', 'https://example.com:abc/'],
    ['a port spelled with full-width digits', 'https://example.com:\uff12\uff12/'],
    ['a single label', 'https://intranet/'],
    ['a single label', 'https://com./'],
    ['an empty label', 'https://a..example.com/'],
    ['an empty label', 'https://example.com../'],
    ['an address with two trailing dots', 'https://127.0.0.1../'],
    ['a label over 63 characters', `https://${'a'.repeat(64)}.com/`],
    ['a name over 253 characters', `https://${'a.'.repeat(126)}com/`],
    ['a character no host name has', 'https://ex*mple.com/'],
    ['a hyphen at a label’s edge', 'https://-a.example.com/'],
    ['localhost', 'https://localhost/'],
    ['localhost', 'https://LOCALHOST./'],
    ['localhost, full-width', 'https://\uff4cocalhost/'],
    ['under localhost', 'https://a.localhost/'],
    ['under local', 'https://printer.local/'],
    ['under internal', 'https://db.internal/'],
    ['under internal', 'https://metadata.google.internal/'],
    ['under internal', 'https://instance-data.ec2.internal./'],
    ['under corp', 'https://wiki.corp/'],
    ['under lan', 'https://router.lan/'],
    ['under home.arpa', 'https://nas.home.arpa/'],
    ['under home.arpa, with ideographic dots', 'https://nas\u3002home\u3002arpa/'],
    ['metadata by name', 'https://metadata.goog/'],
    ['metadata by name', 'https://metadata.tencentyun.com/latest'],
    ['a zone', 'https://[fe80::1%25eth0]/'],
    ['a broken address', 'https://[::1/'],
    ['a number too many', 'https://1.2.3.4.5/'],
  ])('nowhere takes %s: %j', (_name, text) => {
    expect(inSandbox(text).ok).toBe(false);
    expect(inSandbox(text.replace('https:', 'http:')).ok).toBe(false);
    expect(inProduction(text).ok).toBe(false);
  });

  test.each(DEFAULT_DENIED_PORTS)('never has port %i, which internal services use', (port) => {
    expect(inSandbox(`http://example.com:${port}/`).ok).toBe(false);
    expect(inSandbox(`http://127.0.0.1:${port}/`, LOOPBACK_OPEN).ok).toBe(false);
  });

  test('is checked without an exception, whatever the text', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.string());
    fc.assert(
      fc.property(text, (tail) => {
        expect(inSandbox(tail)).toHaveProperty('ok');
        expect(inSandbox(`https://${tail}`)).toHaveProperty('ok');
      }),
      { numRuns: 1000 },
    );
  });
});

describe('ranges opened for development', () => {
  test.each([
    'http://127.0.0.1:3000/hook',
    'http://127.255.0.9/hook',
    'http://0x7f.1:8081/hook',
    'http://127.0.0.1:81/hook',
    'http://[::1]:3000/hook',
    'http://localhost:3000/hook',
    'https://localhost/hook',
  ])('opened loopback takes %s', (text) => {
    expect(inSandbox(text).ok).toBe(false);
    expect(inSandbox(text, LOOPBACK_OPEN).ok).toBe(true);
  });

  test.each([
    'http://10.0.0.1/',
    'http://[::ffff:127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://a.localhost/',
    'http://127.0.0.1:0/',
    'http://example.com:81/',
    'http://user@127.0.0.1/',
  ])('opened loopback opens nothing else: %s', (text) => {
    expect(inSandbox(text, LOOPBACK_OPEN).ok).toBe(false);
  });

  test('localhost needs all of its addresses to be opened, IPv4 and IPv6', () => {
    for (const cidr of LOOPBACK_OPEN.allowedCidrs) {
      expect(inSandbox('http://localhost/', { ...CLOSED, allowedCidrs: [cidr] }).ok).toBe(false);
    }
  });

  test('production requires https on opened addresses too', () => {
    const rules = { environment: 'production', ...LOOPBACK_OPEN } as const;
    expect(checkWebhookUrl('http://127.0.0.1:3000/', rules).ok).toBe(false);
    expect(checkWebhookUrl('https://127.0.0.1:3000/', rules).ok).toBe(true);
  });

  test.each(['127.0.0.1', 'localhost', '127.0.0.0/33', ''])(
    '%j is refused because it is not a range',
    (cidr) => {
      expect(() => isAddressAllowed('8.8.8.8', [cidr])).toThrow(/is not an address range/);
    },
  );
});

describe('saving a webhook URL', () => {
  const save = (text: string, lookup: (hostname: string) => Promise<string[]>) =>
    checkWebhookUrlAtSave(text, {
      environment: 'production',
      ...CLOSED,
      lookup,
    });
  const neverAsked = () => Promise.reject(new Error('the resolver was asked'));

  test('accepts a name if all of its addresses are allowed', async () => {
    const saved = await save('https://example.com/', async () => ['8.8.8.8', '2606:4700::1']);
    expect(saved).toMatchObject({ ok: true, warning: null });
  });

  test.each([
    ['fails', () => Promise.reject(new Error('ENOTFOUND'))],
    ['finds nothing', async () => []],
  ])('warns, and saves, when resolving the name %s', async (_name, lookup) => {
    const saved = await save('https://example.com/', lookup);
    expect(saved).toMatchObject({
      ok: true,
      warning: expect.stringContaining('cannot be resolved'),
    });
  });

  test('refuses a name with one denied address among allowed ones, and does not reveal which', async () => {
    const saved = await save('https://example.com/', async () => ['8.8.8.8', '10.1.2.3']);
    expect(saved).toEqual({
      ok: false,
      reason: 'must not point to a host with a private or reserved address',
    });
  });

  test('resolves no address and no URL that is refused by its text', async () => {
    expect(await save('https://8.8.8.8/', neverAsked)).toMatchObject({ ok: true, warning: null });
    expect(await save('https://10.0.0.1/', neverAsked)).toMatchObject({ ok: false });
    expect(await save('http://example.com/', neverAsked)).toMatchObject({ ok: false });
  });
});
