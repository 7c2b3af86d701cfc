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

/** The key of a rate limit: the IPv4 address, or the /64 network of an IPv6 address. */
export function limitKeyOf(ip: string): string {
  const address = parseAddress(ip);
  if (address?.kind() !== 'ipv6') return address?.toString() ?? ip;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()}/64`;
}
