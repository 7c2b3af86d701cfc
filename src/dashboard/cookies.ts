/**
 * The value of a cookie; undefined if the request has none of this name.
 *
 * Only the space that browsers send is removed before a name. `trim()` also removes a no-break space,
 * and a neighbouring host can set `\u00A0__Host-session`, which browsers do not protect.
 */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.replace(/^ /, ''));
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

/**
 * A cookie of the whole service that scripts cannot read and other sites cannot cause to be sent.
 * `__Host-` names need `Secure`, which browsers accept on the loopback addresses without TLS.
 *
 * @param maxAgeSeconds 0 deletes it; undefined keeps it until the browser is closed
 */
export function cookieText(name: string, value: string, maxAgeSeconds?: number): string {
  const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Strict${age}`;
}
