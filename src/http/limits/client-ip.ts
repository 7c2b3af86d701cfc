import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parses an address; an IPv4-mapped IPv6 address becomes the IPv4 address. */
function parseAddress(text: string): Address | undefined {
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function parseRange(text: string): [Address, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** Finds the IP address of the client that sent a request; `unknown` if it has none. */
export type ClientIp = (request: IncomingMessage) => string;

/**
 * Reads X-Forwarded-For from the right: the first address that is not a trusted proxy is the
 * client. The entries to the left of it are ignored, because the client can forge them.
 *
 * @param trustedProxies addresses or CIDR ranges.
 * @throws Error if one of them is neither.
 */
export function createClientIp(trustedProxies: readonly string[]): ClientIp {
  const ranges = trustedProxies.map(parseRange);
  const isProxy = (address: Address) =>
    ranges.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  return (request) => {
    const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',');
    const hops = forwarded.split(',').map((hop) => hop.trim());
    let client = parseAddress(request.socket.remoteAddress ?? '');
    while (client && isProxy(client)) {
      const previous = parseAddress(hops.pop() ?? '');
      if (!previous) break;
      client = previous;
    }
    return client?.toString() ?? 'unknown';
  };
}

/** What counts as one client, and how many times the limit of an address it has. */
export interface ClientNetwork {
  /** The key of the count: `192.0.2.1`, or `2001:db8:1:2::/64`. */
  readonly key: string;
  readonly limitFactor: number;
}

/**
 * The IPv6 networks that count beside a client's /64. One customer has a /64 of a provider, often a /56, and a company a /48,
 * which has 65,536 of the first. The limits of wider networks are larger, because a provider may give each
 * customer of a /48 only a /64.
 */
const WIDER_NETWORKS = [
  { bits: 56, limitFactor: 4 },
  { bits: 48, limitFactor: 16 },
] as const;

function networkOf(address: ipaddr.IPv6, bits: number): string {
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${bits}`);
  return `${network.toString()}/${bits}`;
}

/** The IPv4 address, or the /64, /56 and /48 networks of an IPv6 address: the narrowest comes first. */
export function networksOf(ip: string): readonly [ClientNetwork, ...ClientNetwork[]] {
  const own = { key: limitKeyOf(ip), limitFactor: 1 };
  const address = parseAddress(ip);
  if (!(address instanceof ipaddr.IPv6)) return [own];
  const wider = WIDER_NETWORKS.map(({ bits, limitFactor }) => ({
    key: networkOf(address, bits),
    limitFactor,
  }));
  return [own, ...wider];
}

/** The key of a rate limit: the IPv4 address, or the /64 network of an IPv6 address. */
export function limitKeyOf(ip: string): string {
  const address = parseAddress(ip);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? ip;
  return networkOf(address, 64);
}
