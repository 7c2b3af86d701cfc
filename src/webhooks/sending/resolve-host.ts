import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { addressRefusal } from './denied-ranges.ts';
import { DeliveryFault } from './faults.ts';

/** Less than the 5 s for a connection. Source: the contract's Durations. */
const DNS_TIMEOUT_MS = 2250;

/** The addresses of `localhost` (RFC 6761, section 6.3), which is not looked up in DNS. */
export const LOCALHOST_ADDRESSES: readonly string[] = ['127.0.0.1', '::1'];

/**
 * Finds every IPv4 and IPv6 address of a host name within the time limit, or throws. An empty result means that
 * there are none.
 */
export type HostLookup = (hostname: string) => Promise<readonly string[]>;

export interface ResolveOptions {
  lookup: HostLookup;
  allowedCidrs: readonly string[];
}

/** The host has at least one address that no webhook may go to. */
export class AddressDeniedError extends DeliveryFault {
  override readonly name = 'AddressDeniedError';
  /** Completes the sentence "The webhook URL …". */
  readonly reason = 'must not point to a host with a private or reserved address';

  constructor() {
    super('the host has an address that is not allowed');
  }
}

/**
 * The lookup for production: c-ares, which queries DNS without a thread pool.
 *
 * `dns.lookup` uses four threads for the whole process, which block while a merchant's name server
 * does not respond: four such merchants would delay all webhooks. /etc/hosts is not read.
 *
 * @param timeoutMs after it, the addresses found so far are the result: a name server that does not
 *   respond for one family must not hide the other
 * @param servers used instead of the system's, as `address:port`
 */
export function createDnsLookup(
  timeoutMs = DNS_TIMEOUT_MS,
  servers?: readonly string[],
): HostLookup {
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname) => {
    const found: string[] = [];
    const collect = async (answer: Promise<string[]>): Promise<void> => {
      found.push(...(await answer.catch(() => [])));
    };
    await Promise.race([
      Promise.all([collect(resolver.resolve4(hostname)), collect(resolver.resolve6(hostname))]),
      delay(timeoutMs, undefined, { ref: false }),
    ]);
    return [...found];
  };
}

async function addressesOf(hostname: string, options: ResolveOptions): Promise<readonly string[]> {
  if (isIP(hostname) !== 0) return [hostname];
  if (hostname === 'localhost') return LOCALHOST_ADDRESSES;
  try {
    return await options.lookup(hostname);
  } catch (error) {
    throw new DeliveryFault('the host name cannot be resolved', { cause: error });
  }
}

/**
 * Resolves a host once and returns its addresses only if all are allowed. The caller connects only to these
 * addresses, so a later change of the DNS answer has no effect.
 *
 * @param hostname a name, or an address without brackets
 * @returns at least one address
 * @throws AddressDeniedError when any of the addresses is denied
 * @throws DeliveryFault when the name does not resolve
 */
export async function resolveAllowed(
  hostname: string,
  options: ResolveOptions,
): Promise<readonly string[]> {
  const addresses = await addressesOf(hostname, options);
  if (addresses.length === 0) throw new DeliveryFault('the host name cannot be resolved');
  if (addresses.some((ip) => addressRefusal(ip, options.allowedCidrs) !== undefined)) {
    throw new AddressDeniedError();
  }
  return addresses;
}
