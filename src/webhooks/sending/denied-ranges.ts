import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Range = readonly [network: ipaddr.IPv4 | ipaddr.IPv6, prefixLength: number];

/**
 * IPv4 ranges that no webhook may reach, each with the reason for the merchant. Source: IANA IPv4 Special-Purpose
 * Address Registry, and Azure's metadata and DNS address, the only metadata address outside of every special range.
 */
const DENIED_IPV4 = [
  ['0.0.0.0/8', 'it stands for this host'],
  ['10.0.0.0/8', 'it is private'],
  ['100.64.0.0/10', 'it is shared by carriers (CGNAT)'],
  ['127.0.0.0/8', 'it is loopback'],
  ['168.63.129.16/32', 'it serves cloud metadata'],
  ['169.254.0.0/16', 'it is link-local, where clouds serve metadata'],
  ['172.16.0.0/12', 'it is private'],
  ['192.0.0.0/24', 'it is reserved for protocols'],
  ['192.0.2.0/24', 'it is for documentation'],
  ['192.31.196.0/24', 'it is reserved for AS112'],
  ['192.52.193.0/24', 'it is reserved for AMT'],
  ['192.88.99.0/24', 'it was reserved for 6to4 relays'],
  ['192.168.0.0/16', 'it is private'],
  ['192.175.48.0/24', 'it is reserved for AS112'],
  ['198.18.0.0/15', 'it is for benchmarks'],
  ['198.51.100.0/24', 'it is for documentation'],
  ['203.0.113.0/24', 'it is for documentation'],
  ['224.0.0.0/4', 'it is multicast'],
  ['240.0.0.0/4', 'it is reserved'],
] as const;

/**
 * The only publicly routed IPv6 block. Loopback, link-local, unique-local (with fd00:ec2::254), multicast,
 * IPv4-mapped, IPv4-compatible and the NAT64 prefixes are outside.
 */
const PUBLIC_IPV6 = parseRange('2000::/3');

/** The special ranges inside 2000::/3. Source: IANA IPv6 Special-Purpose Address Registry. */
const DENIED_IPV6 = [
  ['2001::/23', 'it is reserved for protocols (Teredo, ORCHID, benchmarks)'],
  ['2001:db8::/32', 'it is for documentation'],
  ['2002::/16', 'it wraps an IPv4 address (6to4)'],
  ['2620:4f:8000::/48', 'it is reserved for AS112'],
  ['3fff::/20', 'it is for documentation'],
] as const;

const DENIED = [...DENIED_IPV4, ...DENIED_IPV6].map(
  ([cidr, reason]) => [parseRange(cidr), reason] as const,
);

/** Reads an address range such as `127.0.0.0/8`. @throws TypeError that names the text when it is not a range */
export function parseRange(cidr: string): Range {
  if (!ipaddr.isValidCIDR(cidr)) {
    throw new TypeError(`${cidr} is not an address range such as 127.0.0.0/8`);
  }
  return ipaddr.parseCIDR(cidr);
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, [network, prefixLength]: Range): boolean {
  return address.kind() === network.kind() && address.match(network, prefixLength);
}

/**
 * ISATAP wraps an IPv4 address behind 0000:5efe under *any* /64, so no range describes it. The
 * mask ignores the "universal" and "group" bits (RFC 5214, section 6.1).
 */
function isIsatap(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (!(address instanceof ipaddr.IPv6)) return false;
  const [high = 0, low = 0] = address.parts.slice(4);
  return (high & 0xfcff) === 0 && low === 0x5efe;
}

/**
 * True if an operator has opened this address for development. A range opens only addresses of the same family:
 * 127.0.0.0/8 does not open ::ffff:127.0.0.1.
 *
 * @throws TypeError when an entry of `allowedCidrs` is not a range
 */
export function isAddressOpened(ip: string, allowedCidrs: readonly string[]): boolean {
  if (isIP(ip) === 0 || ip.includes('%')) return false;
  const address = ipaddr.parse(ip);
  return allowedCidrs.some((cidr) => isWithin(address, parseRange(cidr)));
}

/**
 * The reason why no webhook may go to this address. Undefined when it is allowed. Called for every connection. An
 * address is a plain IPv4 or IPv6 text; anything else, also with a zone, is denied.
 *
 * @throws TypeError when an entry of `allowedCidrs` is not a range
 */
export function addressRefusal(ip: string, allowedCidrs: readonly string[]): string | undefined {
  if (isIP(ip) === 0 || ip.includes('%')) return 'it is not a plain IP address';
  if (isAddressOpened(ip, allowedCidrs)) return undefined;
  const address = ipaddr.parse(ip);
  if (address.kind() === 'ipv6' && !isWithin(address, PUBLIC_IPV6)) return 'it is not public';
  if (isIsatap(address)) return 'it wraps an IPv4 address (ISATAP)';
  return DENIED.find(([range]) => isWithin(address, range))?.[1];
}
