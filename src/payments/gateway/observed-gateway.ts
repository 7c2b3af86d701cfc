import type { AlertDeps } from '../../alerts/alerts.ts';
import { raiseAlert } from '../../alerts/alerts.ts';
import { createReports } from '../../reports.ts';
import type { PaymentGateway } from './gateway.ts';
import { GatewayNotUnderstood, GatewayRefused, GatewayUnavailable } from './gateway.ts';

/**
 * `done`: the gateway answered. `refused`: it refused, and would refuse a repeat. `unavailable`: it did not answer
 * in time. `stopped`: the service itself ended the call, before any money moved.
 */
export const GATEWAY_OUTCOMES = ['done', 'refused', 'unavailable', 'stopped'] as const;

/** A call of the port that has ended. It may have made several HTTP requests. */
export interface GatewayCallResult {
  readonly gateway: string;
  readonly environment: string;
  /** The method of the port, such as `refund`. */
  readonly operation: string;
  readonly outcome: (typeof GATEWAY_OUTCOMES)[number];
  readonly durationMs: number;
}

const ENDED = createReports<GatewayCallResult>('gateway-call-ended');

/** Calls `listener` for each gateway call of this process. @returns a function that unsubscribes */
export const onGatewayCallEnded = ENDED.subscribe;

function outcomeOf(error: unknown): GatewayCallResult['outcome'] {
  if (error instanceof GatewayRefused) return 'refused';
  return error instanceof GatewayUnavailable ? 'unavailable' : 'stopped';
}

/** @returns a function that raises an alert about an answer, or a part of one, that the adapter does not understand */
export function alertNotUnderstood(
  deps: AlertDeps,
  at: Pick<GatewayCallResult, 'gateway' | 'environment'>,
) {
  return (operation: string, error: unknown): Promise<void> =>
    raiseAlert(deps, {
      kind: 'gateway_not_understood',
      subject: `${at.gateway}:${at.environment}`,
      message: 'The gateway has answered in an unknown form or with an unknown status',
      fields: { ...at, operation },
      error,
    });
}

/**
 * Wraps a gateway: reports the result of each call to {@link onGatewayCallEnded}, and raises an alert about an
 * answer that the adapter does not understand.
 */
export function observedGateway(
  deps: AlertDeps,
  port: PaymentGateway,
  at: Pick<GatewayCallResult, 'gateway' | 'environment'>,
): PaymentGateway {
  const raise = alertNotUnderstood(deps, at);
  async function observe(operation: string, call: Promise<unknown>): Promise<unknown> {
    const startedAtMs = performance.now();
    const report = (outcome: GatewayCallResult['outcome']) => {
      const durationMs = performance.now() - startedAtMs;
      ENDED.publish({ ...at, operation, outcome, durationMs });
    };
    try {
      const result = await call;
      report('done');
      return result;
    } catch (error) {
      report(outcomeOf(error));
      if (error instanceof GatewayNotUnderstood) await raise(operation, error.cause);
      throw error;
    }
  }

  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function' || typeof name !== 'string') return member;
      return (...args: unknown[]) => {
        const result: unknown = member.apply(target, args);
        // `parseCallback` sends no request and returns its result directly.
        return result instanceof Promise ? observe(name, result) : result;
      };
    },
  });
}
