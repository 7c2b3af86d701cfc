import type { OperatorAction, OperatorRole, SignedInUser } from '../accounts/public.ts';
import { mayDo } from '../accounts/public.ts';
import type { Actor } from '../db/actor.ts';
import { DomainError, ENVIRONMENTS, type Environment } from '../domain/index.ts';
import { errorOf } from '../http/responses/errors.ts';
import type { Frame } from './view/layout.ts';
import { pathWith } from './view/url.ts';

/** A merchant's user, and the environment that the page is about. */
export interface MerchantViewer {
  readonly user: SignedInUser;
  readonly merchantId: string;
  readonly merchantName: string;
  readonly merchantStatus: NonNullable<SignedInUser['merchantStatus']>;
  readonly environment: Environment;
}

/** The merchant and the environment that a page is about, as the features call them. */
export function ownerOf({ merchantId, environment }: MerchantViewer) {
  return { merchantId, environment };
}

/** The path of a page in the viewer's environment. */
export function pathOf(
  { environment }: Pick<MerchantViewer, 'environment'>,
  below: string,
): string {
  return `/dashboard/${environment}${below}`;
}

/** An operator. */
export interface OperatorViewer {
  readonly user: SignedInUser;
  readonly role: OperatorRole;
}

/** Who a page is for, and what its handler learns of the person. */
export interface Viewers {
  /** Also without a session. */
  anyone: { readonly user: SignedInUser | undefined };
  /** Also without a session, outside of the dashboard. */
  site: { readonly user: SignedInUser | undefined };
  merchant: MerchantViewer;
  operator: OperatorViewer;
}

/** Who may see a page. */
export type Audience = keyof Viewers;

/** Whether a page is only for those who are logged in. */
export const needsSession = (audience: Audience): audience is 'merchant' | 'operator' =>
  audience === 'merchant' || audience === 'operator';

/** Where a page is, and for which environment of a merchant. */
export interface Place {
  readonly path: `/${string}`;
  readonly environment: Environment | undefined;
}

/** The places of a page: one for each environment if it is a merchant's. */
export function placesOf(audience: Audience, path: string): Place[] {
  switch (audience) {
    case 'merchant':
      return ENVIRONMENTS.map((environment) => ({
        path: `/dashboard/${environment}${path}`,
        environment,
      }));
    case 'operator':
      return [{ path: `/operator${path}`, environment: undefined }];
    case 'anyone':
      return [{ path: `/dashboard${path}`, environment: undefined }];
    case 'site':
      return [{ path: `/${path.slice(1)}`, environment: undefined }];
  }
}

/** The place of a form's page, in the environment of the form. @param path as {@link placesOf} takes it */
export function formPlaceOf(audience: Audience, path: string, form: Place): Place {
  return placesOf(audience, path).find((one) => one.environment === form.environment) ?? form;
}

/** Sends the browser to the page that the person has to see first. */
export class RedirectFirst extends Error {
  readonly to: string;

  constructor(to: string) {
    super(`Redirected to ${to}`);
    this.to = to;
  }
}

/** The page on which a user logs in. */
export const LOG_IN = '/dashboard/login';

/** The page that asks for password and second factor again. @param next the page to show after it */
export const confirmPath = (next: string): string => pathWith('/dashboard/confirm', { next });

/** What {@link viewerOf} checks of a page. */
export interface AccessRule {
  readonly audience: Audience;
  readonly method: 'GET' | 'POST';
  /** What an operator must be allowed to do. To read, it is enough to be an operator. */
  readonly permission?: OperatorAction | undefined;
  /** Also for an operator who has not set up two-factor authentication yet. */
  readonly isBeforeTwoFactor?: true | undefined;
}

/**
 * Checks that the user may see the page.
 *
 * @param path of the request: after the login, the browser returns to it
 * @throws RedirectFirst, DomainError `NOT_FOUND`, `NOT_PERMITTED`
 */
export function viewerOf(
  user: SignedInUser | undefined,
  { audience, method, permission, isBeforeTwoFactor }: AccessRule,
  environment: Environment | undefined,
  path: string,
): Viewers[Audience] {
  if (!needsSession(audience)) return { user };
  if (user === undefined) {
    const query = method === 'GET' ? { next: path } : {};
    throw new RedirectFirst(pathWith(LOG_IN, query));
  }
  // For a merchant's user, the operators' pages do not exist, and the reverse.
  if (audience === 'merchant') {
    const { merchantId, merchantName, merchantStatus } = user;
    if (merchantId === null || merchantName === null || merchantStatus === null || !environment) {
      throw errorOf('NOT_FOUND');
    }
    return { user, merchantId, merchantName, merchantStatus, environment };
  }
  if (user.role === null) throw errorOf('NOT_FOUND');
  if (!user.hasTwoFactor && !isBeforeTwoFactor) throw new RedirectFirst('/operator/account');
  if (permission !== undefined && !mayDo(user.role, permission)) {
    throw new DomainError('NOT_PERMITTED', `Your role, ${user.role}, does not allow this`);
  }
  return { user, role: user.role };
}

/** The user as the audit log names them. */
export function actorOf(user: SignedInUser | undefined, address: string): Actor {
  if (user === undefined) return { name: 'dashboard', address };
  const kind = user.role === null ? 'merchant' : 'operator';
  return { name: `${kind}:${user.email}`, address };
}

/** What surrounds a page for this user. */
export function frameOf(user: SignedInUser | undefined, { environment, path }: Place): Frame {
  if (user?.role) return { kind: 'operator', role: user.role };
  if (user?.merchantName == null || environment === undefined) return { kind: 'signedOut' };
  const other = environment === 'sandbox' ? 'production' : 'sandbox';
  // An order of one environment does not exist in the other one, but the list of orders does.
  const list = path.split('/')[3];
  const otherPath = ['/dashboard', other, list].filter((part) => part !== undefined).join('/');
  return { kind: 'merchant', name: user.merchantName, environment, otherPath };
}
