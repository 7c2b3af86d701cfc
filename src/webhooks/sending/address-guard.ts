import { isIP } from 'node:net';
import type { Environment } from '../../domain/index.ts';
import { addressRefusal, isAddressOpened } from './denied-ranges.ts';
import { AddressDeniedError, LOCALHOST_ADDRESSES, resolveAllowed } from './resolve-host.ts';
import type { ResolveOptions } from './resolve-host.ts';

const MAX_URL_CHARACTERS = 2048;
const MAX_HOST_CHARACTERS = 253;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Ports where internal services listen: Docker, etcd, MySQL, PostgreSQL, Redis, Temporal and its
 * UI, Elasticsearch, memcached, MongoDB. The operator adds ports with `WEBHOOK_DENIED_PORTS`.
 */
export const DEFAULT_DENIED_PORTS: readonly number[] = [
  2375, 2379, 3306, 5432, 6379, 7233, 8233, 9200, 11_211, 27_017,
];

/** Domains that are never public. */
const DENIED_DOMAINS = ['localhost', 'local', 'internal', 'corp', 'lan', 'home.arpa'];

/** Names under which clouds serve instance metadata, beyond those under `internal`. */
const METADATA_DOMAINS = [
  'metadata.goog',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
];

export interface WebhookUrlRules {
  environment: Environment;
  /** Address ranges that are opened for development, with every port that is not denied. */
  allowedCidrs: readonly string[];
  /** Ports that are refused everywhere, also on opened addresses. */
  deniedPorts: readonly number[];
}

/** The parsed URL, or a reason that completes the sentence "The webhook URL …". */
export type WebhookUrlCheck = { ok: true; url: URL } | { ok: false; reason: string };
/** The same when the URL is saved, with a warning about a host name that does not resolve now. */
export type WebhookUrlSaveCheck =
  | { ok: true; url: URL; warning: string | null }
  | { ok: false; reason: string };

/** A reason that completes the sentence "The webhook URL …". Undefined when allowed. */
type Refusal = string | undefined;

/**
 * Checks what parsing hides: `URL.parse` corrects slashes, drops tabs and line breaks, and discards an empty user
 * name.
 */
function textRefusal(text: string): Refusal {
  if (text.length > MAX_URL_CHARACTERS) {
    return `must be at most ${MAX_URL_CHARACTERS} characters long`;
  }
  if (/[\s\p{Cc}\p{Cs}]/u.test(text)) return 'must not contain spaces or control characters';
  if (text.includes('\\')) return 'must not contain a backslash';
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) return 'must begin with https:// or http:// and a host';
  if (authority.includes('@')) return 'must not contain a user name or password';
  return undefined;
}

function schemeRefusal(url: URL, environment: Environment): Refusal {
  if (url.protocol === 'http:' && environment === 'production') {
    return 'must use https in production';
  }
  return undefined;
}

/** Removes the brackets that a URL has around an IPv6 address, and that sockets and resolvers do not accept. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/**
 * True when every address of the host was opened. `localhost` stands for both 127.0.0.1 and ::1 (RFC 6761), so both
 * must be open: the socket may connect to either.
 */
function isHostOpened(hostname: string, allowedCidrs: readonly string[]): boolean {
  const addresses = hostname === 'localhost' ? LOCALHOST_ADDRESSES : [withoutBrackets(hostname)];
  return addresses.every((ip) => isAddressOpened(ip, allowedCidrs));
}

function isUnder(name: string, domains: readonly string[]): boolean {
  return domains.some((domain) => name === domain || name.endsWith(`.${domain}`));
}

function nameRefusal(name: string): Refusal {
  const labels = name.split('.');
  if (name.length > MAX_HOST_CHARACTERS || !labels.every((label) => LABEL.test(label))) {
    return 'must have a valid host name';
  }
  if (isUnder(name, DENIED_DOMAINS)) return 'must not point to a local or internal host name';
  if (isUnder(name, METADATA_DOMAINS)) return 'must not point to cloud metadata';
  return labels.length === 1 ? 'must have a full host name, with a domain' : undefined;
}

function hostRefusal(hostname: string, allowedCidrs: readonly string[]): Refusal {
  if (isHostOpened(hostname, allowedCidrs)) return undefined;
  const literal = withoutBrackets(hostname);
  if (isIP(literal) === 0) return nameRefusal(hostname);
  const reason = addressRefusal(literal, allowedCidrs);
  return reason && `must not point to the address ${literal}: ${reason}`;
}

/** An opened host accepts any port, because a developer's receiver may listen on any. */
function portRefusal(url: URL, { allowedCidrs, deniedPorts }: WebhookUrlRules): Refusal {
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  const isUsual = port === 80 || port === 443 || port >= 1024;
  if (port === 0 || (!isUsual && !isHostOpened(url.hostname, allowedCidrs))) {
    return 'must use port 80, 443 or one from 1024 to 65535';
  }
  return deniedPorts.includes(port) ? `must not use port ${port}` : undefined;
}

/** Parses as a browser does, which normalizes every notation of an IPv4 address. */
function parseUrl(text: string): URL | null {
  const url = URL.parse(text);
  // A trailing dot names the same host, but certificates and SNI have no trailing dot.
  if (url !== null) url.hostname = url.hostname.replace(/\.$/, '');
  return url;
}

/**
 * Checks a webhook URL without resolving its host, when it is saved and again before every attempt. Source:
 * specification, Events, Configuration 2.
 *
 * @returns the URL to connect to, its host without a trailing dot, or the reason for the refusal
 * @throws TypeError when an entry of `allowedCidrs` is not an address range
 */
export function checkWebhookUrl(text: string, rules: WebhookUrlRules): WebhookUrlCheck {
  const textReason = textRefusal(text);
  if (textReason !== undefined) return { ok: false, reason: textReason };
  const url = parseUrl(text);
  if (url === null) return { ok: false, reason: 'must be a valid URL' };
  const reason =
    schemeRefusal(url, rules.environment) ??
    hostRefusal(url.hostname, rules.allowedCidrs) ??
    portRefusal(url, rules);
  return reason === undefined ? { ok: true, url } : { ok: false, reason };
}

/**
 * Checks a URL that a merchant saves: first the static rules, then the addresses of its host. A name that does not
 * resolve gives a warning, because the check at connection time decides. A name that resolves to a denied address is
 * refused. The reason does not contain the address, because a resolver inside the service's network may answer names
 * that outsiders must not look up.
 *
 * @throws TypeError when an entry of `allowedCidrs` is not an address range
 */
export async function checkWebhookUrlAtSave(
  text: string,
  rules: WebhookUrlRules & ResolveOptions,
): Promise<WebhookUrlSaveCheck> {
  const checked = checkWebhookUrl(text, rules);
  if (!checked.ok) return checked;
  try {
    await resolveAllowed(withoutBrackets(checked.url.hostname), rules);
    return { ...checked, warning: null };
  } catch (error) {
    if (error instanceof AddressDeniedError) return { ok: false, reason: error.reason };
    const warning = 'The host name cannot be resolved now; no webhook arrives until it can.';
    return { ...checked, warning };
  }
}
