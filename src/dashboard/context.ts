import type { Logger } from 'pino';
import type { ComponentChildren } from 'preact';
import type { KeptForms, SignedInUser } from '../accounts/public.ts';
import type { Actor } from '../db/actor.ts';
import type { Alongside } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import type { RateLimiter } from '../http/limits/rate-limit.ts';
import type { FileSlots } from '../http/limits/slots.ts';
import { ValidationError } from '../http/responses/errors.ts';
import type { MerchantAct, NoticeDeps } from '../merchants/public.ts';
import { withNotice } from '../merchants/public.ts';
import type { Files } from './view/layout.ts';
import type { MerchantViewer } from './viewer.ts';

export interface PageDeps {
  /** The URL under which browsers reach the service; it may have a path. */
  publicBaseUrl: string;
  /** Named on the error pages; undefined if none is set. */
  supportEmail: string | undefined;
  /** Limits the requests of each address to all pages. */
  rateLimiter: RateLimiter;
  log: Logger;
  /** Keeps what was typed while its user logs in or confirms; without it, nothing is kept. */
  forms?: KeptForms;
  /**
   * The user of a session cookie; undefined if the session does not exist or has ended.
   *
   * @param isActivity whether a person has made the request, which moves the session's idle time
   */
  readSession(token: string, isActivity: boolean): Promise<SignedInUser | undefined>;
  /** Notices on every page of a merchant in one environment. */
  readBanners(merchantId: string, environment: Environment): Promise<ComponentChildren>;
}

export interface PageContext extends PageDeps {
  readonly files: Files;
  /** The limit for the files of all pages that are written while they are sent. */
  readonly downloads: FileSlots;
  /** The path of the service's public URL; '' at the root. */
  readonly pathPrefix: string;
  /** The pages that are read with GET, by their declared paths: a refused form is shown on its page. */
  readonly pages: Map<string, Route>;
}

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

/** Carries out a form. A BAD_REQUEST becomes a violation of one field. @throws ValidationError */
export async function refusedAt<Result>(
  field: string,
  carryOut: () => Promise<Result>,
): Promise<Result> {
  try {
    return await carryOut();
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'BAD_REQUEST') throw error;
    throw new ValidationError({ [field]: error.message });
  }
}

/**
 * Carries out a user's act; the merchant gets a mail about it if the table of acts says so.
 *
 * @param carryOut writes the mail with the statement of the act
 * @throws DomainError `NOT_FOUND`, and what `carryOut` throws
 */
export function noticed<Result>(
  { notices }: { notices: NoticeDeps },
  { viewer, actor, isNoticed }: { viewer: MerchantViewer; actor: Actor; isNoticed: boolean },
  act: MerchantAct,
  carryOut: (alongside?: Alongside) => Promise<Result>,
): Promise<Result> {
  if (!isNoticed) return carryOut();
  const { merchantId, user } = viewer;
  return withNotice(notices, { merchantId, act, email: user.email, actor }, carryOut);
}
