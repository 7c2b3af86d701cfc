import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isAddressAllowed } from './denied-ranges.ts';
import { DeliveryFault, secondsText, TimeoutFault } from './faults.ts';

/** What the name `localhost` stands for (RFC 6761, section 6.3); no resolver is asked for it. */
export const LOCALHOST_ADDRESSES: readonly string[] = ['127.0.0.1', '::1'];

/** Finds every IPv4 and IPv6 address of a host name, or throws; an empty answer means none. */
export type HostLookup = (hostname: string) => Promise<readonly string[]>;

export interface ResolveOptions {
  lookup: HostLookup;
  allowedCidrs: readonly string[];
  dnsTimeoutMs: number;
}

/** The host stands for at least one address that no webhook may go to. */
export class AddressDeniedError extends DeliveryFault {
  override readonly name = 'AddressDeniedError';
  /** To be read after "The webhook URL". */
  readonly reason = 'must not point to a host with a private or reserved address';

  constructor() {
    super('the host has an address that is not allowed');
  }
}

/**
 * The lookup for production: DNS over sockets of our own (c-ares).
 *
 * Not `dns.lookup`, whose four threads for the whole process stay busy for as long as a merchant's
 * name server keeps silent: four such merchants would hold up everyone's webhooks. It follows that
 * /etc/hosts is not read.
 *
 * @param dnsTimeoutMs after which the caller gives up. What is known at three quarters of it is the
 *   answer: a name server that keeps silent about one family must not hide the other.
 * @param servers asked instead of the system's, as `address:port`
 */
export function createDnsLookup(dnsTimeoutMs: number, servers?: readonly string[]): HostLookup {
  const resolver = new Resolver({ timeout: Math.ceil(dnsTimeoutMs / 4), tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname) => {
    const found: string[] = [];
    const collect = async (answer: Promise<string[]>): Promise<void> => {
      found.push(...(await answer.catch(() => [])));
    };
    await Promise.race([
      Promise.all([collect(resolver.resolve4(hostname)), collect(resolver.resolve6(hostname))]),
      delay(dnsTimeoutMs * 0.75, undefined, { ref: false }),
    ]);
    return [...found];
  };
}

async function lookUpInTime(hostname: string, options: ResolveOptions): Promise<readonly string[]> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const limit = secondsText(options.dnsTimeoutMs);
    reject(new TimeoutFault(`the host name was not resolved within ${limit}`));
  }, options.dnsTimeoutMs);
  try {
    return await Promise.race([options.lookup(hostname), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

async function addressesOf(hostname: string, options: ResolveOptions): Promise<readonly string[]> {
  if (isIP(hostname) !== 0) return [hostname];
  if (hostname === 'localhost') return LOCALHOST_ADDRESSES;
  try {
    return await lookUpInTime(hostname, options);
  } catch (error) {
    if (error instanceof DeliveryFault) throw error;
    throw new DeliveryFault('the host name cannot be resolved', { cause: error });
  }
}

/**
 * Resolves a host once and lets its addresses through only if every one of them is allowed. The
 * caller connects to these addresses and to no others: a resolver that changes its answer later
 * gains nothing.
 *
 * @param hostname a name, or an address without brackets, which passes the same check
 * @returns at least one address
 * @throws AddressDeniedError when any of the addresses is denied
 * @throws DeliveryFault when the name does not resolve, or not in time
 */
export async function resolveAllowed(
  hostname: string,
  options: ResolveOptions,
): Promise<readonly string[]> {
  const addresses = await addressesOf(hostname, options);
  if (addresses.length === 0) throw new DeliveryFault('the host name cannot be resolved');
  if (!addresses.every((ip) => isAddressAllowed(ip, options.allowedCidrs))) {
    throw new AddressDeniedError();
  }
  return addresses;
}
