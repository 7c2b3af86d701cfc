import type { Client } from '../../accounts/public.ts';
import { DEVICE_COOKIE, SESSION_COOKIE } from '../../accounts/public.ts';

/** The browser of a request, as the accounts record it. */
export function clientOf(request: {
  address: string;
  userAgent: string;
  cookie(name: string): string | undefined;
}): Client {
  const { address, userAgent } = request;
  return {
    address,
    userAgent,
    sessionToken: request.cookie(SESSION_COOKIE),
    deviceToken: request.cookie(DEVICE_COOKIE),
  };
}
