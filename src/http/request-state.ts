import type { RouterMiddleware } from '@koa/router';
import type Koa from 'koa';
import type { Logger } from 'pino';
import type { Environment } from '../domain/order.ts';
import type { AuthenticatedMerchant, Reply } from './define-route.ts';
import type { Deadline } from './limits/deadline.ts';
import type { NegotiatedVersion } from './versions.ts';

/** Koa's `ctx.state` of one request: each middleware adds what the later ones need. */
export interface RequestState {
  requestId: string;
  log: Logger;
  /** The address of the client: see src/http/limits/client-ip.ts. */
  clientIp: string;
  /** How long the service may still work on the request. */
  within: Deadline;
  /** Undefined outside of the merchant API, like the merchant and the version. */
  environment?: Environment | undefined;
  merchant?: AuthenticatedMerchant;
  version?: NegotiatedVersion;
  operationId?: string;
  /** The declared path. The path of the request can contain a buyer's token and is never logged. */
  route?: string;
  isHealthCheck?: boolean;
  /** What the route answers. */
  reply?: Reply;
}

/** The context of any request. */
export type HttpContext = Koa.ParameterizedContext<RequestState>;

/** A middleware of every request. */
export type HttpMiddleware = Koa.Middleware<RequestState>;

/** A middleware of one route, which has the parameters of its path. */
export type RouteMiddleware = RouterMiddleware<RequestState>;
