import type { ComponentChildren } from 'preact';
import type { Logger } from 'pino';
import type { KeptForms, SignedInUser } from '../accounts/public.ts';
import type { Environment } from '../domain/index.ts';
import type { RateLimiter } from '../http/limits/rate-limit.ts';
import type { Files } from './view/layout.ts';

/** What every page needs; the pages of a feature add what they call. */
export interface PageDeps {
  /** The URL under which browsers reach the service; it may have a path. */
  publicBaseUrl: string;
  /** Named on the error pages; undefined if none is set. */
  supportEmail: string | undefined;
  /** The rate limit of all pages, for each address. */
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

/** The dependencies of a page, with what is made of them once. */
export interface PageContext extends PageDeps {
  readonly files: Files;
  /** The path of the service's public URL; '' at the root. */
  readonly pathPrefix: string;
}
