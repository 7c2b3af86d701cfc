import type { z } from 'zod';
import type { OperatorAction } from '../accounts/public.ts';
import type { Actor } from '../db/actor.ts';
import type { ErrorCode } from '../domain/index.ts';
import type { ObjectSchema, Parsed, Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { addRequestFields } from '../http/request-context.ts';
import { logError } from '../http/responses/errors.ts';
import { assertOwnForm } from '../pages/same-origin.ts';
import type { PageContext } from './context.ts';
import { readCookie } from './context.ts';
import { actRuleOfPage, applies } from './merchant-acts.ts';
import { typedFields } from './refusal.ts';
import type { PageReply } from './reply.ts';
import { RELOAD, responseOf, RESPONSES, signedOutRefusal } from './reply.ts';
import { createUploadCheck, lacksStrictCookie, pageHeaders, userOf } from './session.ts';
import { answerRefused, dropTyped, findTyped, senderOf } from './typed-forms.ts';
import type { Audience, Place, Viewers } from './viewer.ts';
import {
  actorOf,
  confirmPath,
  formPlaceOf,
  needsSession,
  placesOf,
  RedirectFirst,
  viewerOf,
} from './viewer.ts';

export interface PageRequest<A extends Audience, P = undefined, Q = undefined, B = undefined> {
  readonly viewer: Viewers[A];
  readonly params: Parsed<P>;
  readonly query: Parsed<Q>;
  readonly body: Parsed<B>;
  /** For the audit log: the user and the address. */
  readonly actor: Actor;
  readonly address: string;
  readonly userAgent: string;
  /** Whether the merchant gets a mail about the act, by the table of acts: see `noticed`. */
  readonly isNoticed: boolean;
  cookie(name: string): string | undefined;
  readonly log: PageContext['log'];
}

type AsksAgain<A extends Audience, P, Q, B> =
  | boolean
  | ((request: PageRequest<A, P, Q, B>) => boolean | Promise<boolean>);

/** The refusals of values, for a form that has fields. */
const OF_WHAT_WAS_TYPED = ['VALIDATION_FAILED', 'BAD_REQUEST'] as const satisfies ErrorCode[];

type PagePath = '' | `/${string}`;

/** Everything in the declaration of a page or form but its audience, place and handler. */
interface PageOptions<A extends Audience, P, Q, B> {
  /** The permission that an operator needs beside the role; every operator may read. */
  readonly permission?: A extends 'operator' ? OperatorAction : never;
  readonly params?: P;
  readonly query?: Q;
  /** The fields of the form. The handler checks their values, to show what was typed. */
  readonly body?: B;
  readonly bodyType?: 'form' | 'multipart';
  /** How long the handler may take, where 4.5 s are not enough. */
  readonly responseTimeoutMs?: number;
  /**
   * Whether an operator has to give password and second factor again, unless both were given within the last ten
   * minutes, on the page that asks for them. For the forms of merchants' users, `MERCHANT_ACTS` says so.
   */
  readonly asksAgain?: A extends 'operator' ? AsksAgain<A, P, Q, B> : never;
  /** The page of a form of `MERCHANT_ACTS` asks as the form does, so that nothing is typed in vain. */
  readonly asksFirst?: true;
  readonly isLarge?: (request: PageRequest<A, P, Q, B>) => Promise<boolean>;
  /**
   * The refusals that the page of the form says in a place of its own, at the form or its fields: those of what was
   * typed, if nothing else is given. Of all others, a notice above the page says that nothing was done.
   */
  readonly refusals?: readonly ErrorCode[];
  /** The page of the form, where it has another path than the form. */
  readonly formPath?: PagePath;
  /** Also open to an operator who has not set up two-factor authentication yet. */
  readonly isBeforeTwoFactor?: true;
}

interface PageDeclaration<A extends Audience, P, Q, B> extends PageOptions<A, P, Q, B> {
  readonly audience: A;
  readonly method: 'GET' | 'POST';
  readonly path: PagePath;
  readonly refusals: readonly ErrorCode[];
}

/**
 * Declares a page or a form, in both environments if it is a merchant's. Before the handler runs, the
 * session was read, audience and permission were checked, and a POST was found to come from a page
 * of this service. A DomainError that the handler throws becomes a page with its message.
 *
 * @param at method and path, such as `GET /orders`: below `/dashboard/sandbox` and `/dashboard/production` for
 *   merchants, below `/operator` for operators, below `/dashboard` for everyone, below `/` for the site
 */
export function definePage<
  A extends Audience,
  P extends ObjectSchema | undefined = undefined,
  Q extends ObjectSchema | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(
  context: PageContext,
  audience: A,
  at: `${'GET' | 'POST'} /${string}`,
  options: PageOptions<A, P, Q, B> = {},
) {
  const method = at.startsWith('GET ') ? 'GET' : 'POST';
  const path = at.slice(method.length + 1).replace(/^\/$/, '') as PagePath;
  const refusals = options.body ? OF_WHAT_WAS_TYPED : [];
  const page = { refusals, ...options, audience, method, path } as const;
  return {
    handledBy: (handler: (request: PageRequest<A, P, Q, B>) => Promise<PageReply>): Route[] =>
      placesOf(audience, path).map((place) => {
        const route = routeOf(context, page, place, handler);
        if (method === 'GET') context.pages.set(place.path, route);
        return route;
      }),
  };
}

/**
 * Declares pages as {@link definePage} does, for each of the audiences, before the service is known: what is declared
 * is called with the context of the pages and with `Deps`, which the handler receives as well.
 */
export const pagesOf =
  <Deps, A extends Audience>(...audiences: readonly A[]) =>
  <
    P extends ObjectSchema | undefined = undefined,
    Q extends ObjectSchema | undefined = undefined,
    B extends z.ZodType | undefined = undefined,
  >(
    at: `${'GET' | 'POST'} /${string}`,
    options: PageOptions<A, P, Q, B> = {},
  ) => ({
    handledBy:
      (
        handler: (
          request: PageRequest<A, P, Q, B>,
          deps: Deps,
          context: PageContext,
        ) => Promise<PageReply>,
      ) =>
      (context: PageContext, deps: Deps): Route[] =>
        audiences.flatMap((audience) =>
          definePage(context, audience, at, options).handledBy((request) =>
            handler(request, deps, context),
          ),
        ),
  });

function routeFacts(
  context: PageContext,
  { method, bodyType }: Pick<Route, 'method' | 'bodyType'>,
  place: Place,
) {
  return {
    base: 'root',
    path: place.path,
    operationId: `${method} ${place.path}`,
    headers: pageHeaders,
    rateLimiter: context.rateLimiter,
    responses: RESPONSES,
    errors: ['NOT_FOUND', 'ORIGIN_NOT_ALLOWED'],
    refusalPage: signedOutRefusal.bind(undefined, context, bodyType),
  } as const;
}

function routeOf<
  A extends Audience,
  P extends ObjectSchema | undefined,
  Q extends ObjectSchema | undefined,
  B extends z.ZodType | undefined,
>(
  context: PageContext,
  page: PageDeclaration<A, P, Q, B>,
  place: Place,
  handler: (request: PageRequest<A, P, Q, B>) => Promise<PageReply>,
): Route {
  const { method, audience, params, query, body, bodyType = 'form', responseTimeoutMs } = page;
  const rule = actRuleOfPage(page, page.path, page.asksFirst);
  const formPlace = formPlaceOf(audience, page.formPath ?? page.path, place);
  return defineRoute({
    ...routeFacts(context, { method, bodyType }, place),
    method,
    bodyType,
    ...(params && { params }),
    ...(query && { query }),
    ...(body && { body }),
    ...(responseTimeoutMs && { responseTimeoutMs }),
    ...(bodyType === 'multipart' && { beforeBody: createUploadCheck(context, page, place) }),
  }).handledUnvalidated(async (asked, validate) => {
    const { sent, requestId, log, clientIp: address } = asked;
    const given = pageHeaders.parse(sent.headers);
    if (method === 'POST') assertOwnForm(given, context.publicBaseUrl);
    const cookie = (name: string) => readCookie(given.Cookie, name);
    if (needsSession(audience) && lacksStrictCookie(given)) return RELOAD;
    const user = await userOf(context, given);
    if (user) addRequestFields({ userId: user.userId });
    const sender = senderOf(user, cookie);
    const formPath = pathOf(formPlace, sent);
    const rendering = { context, place, user };
    try {
      const { environment } = place;
      const viewer = viewerOf(user, page, environment, pathOf(place, sent));
      const actor = actorOf(user, address);
      const userAgent = given['User-Agent'] ?? '';
      const input = { ...validate(), viewer, actor, address, userAgent, cookie, log };
      // The cast is safe: the types were inferred from the schemas and the audience.
      const request = input as unknown as PageRequest<A, P, Q, B>;
      const of = { environment, isLarge: async () => (await page.isLarge?.(request)) === true };
      const asksByRule = await applies(rule.asksAgain, of);
      await assertConfirmed(page, request, asksByRule, formPath);
      const isNoticed = await applies(rule.mail, of);
      const reply = await handler({ ...request, isNoticed });
      const known = { context, sender, formPath };
      if (method === 'POST') await dropTyped(known, reply);
      const again = method === 'GET' ? await findTyped(known, sent) : undefined;
      return await responseOf({ ...rendering, again }, reply);
    } catch (error) {
      if (!(error instanceof RedirectFirst)) logError(log, error);
      const form = { action: pathOf(place, sent), fields: typedFields(sent.body) };
      const refused = { rendering, error, requestId, form, formPath };
      return answerRefused(refused, { ...page, sender, asked, pagePath: formPlace.path });
    }
  });
}

/** @throws RedirectFirst if the act asks again and the user has not given both lately */
async function assertConfirmed<A extends Audience, P, Q, B>(
  page: PageDeclaration<A, P, Q, B>,
  request: PageRequest<A, P, Q, B>,
  asksByRule: boolean,
  formPath: string,
): Promise<void> {
  if (request.viewer.user?.isConfirmed === true) return;
  // The compiler does not see that only operators' pages have it.
  const { asksAgain = false } = page as { asksAgain?: AsksAgain<A, P, Q, B> };
  const asks = typeof asksAgain === 'boolean' ? asksAgain : await asksAgain(request);
  if (asksByRule || asks) throw new RedirectFirst(confirmPath(formPath));
}

/** The path of a request, without its query, which may contain what a buyer is searched by. */
function pathOf({ path }: Place, { params }: { readonly params: unknown }): string {
  const values = new Map(Object.entries(params ?? {}));
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(values.get(name))),
  );
}
