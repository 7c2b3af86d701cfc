import type { Span } from '@opentelemetry/api';
import {
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

/**
 * The spans of this service. Without an endpoint for traces no SDK is loaded, and the functions of
 * OpenTelemetry's API do nothing.
 */
const TRACER = 'payment-order-service';

/** The attributes that this service sets on its spans: ids, routes and outcomes. */
const OWN = [
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'environment',
  'merchant.id',
  'order.number',
  'gateway',
  'gateway.operation',
  'webhook.event',
  'webhook.delivery_id',
  'outcome',
] as const;

/** Those that Temporal's interceptors set. The workflow id of an order is its order number. */
const OF_TEMPORAL = [
  'temporalWorkflowId',
  'temporalActivityId',
  'temporalUpdateId',
  'run_id',
  'workflowId',
  'runId',
  'workflowType',
  'taskQueue',
  'namespace',
] as const;

/** What a span of this service may carry. */
type SpanAttributes = Partial<Record<(typeof OWN)[number], string | number | undefined>>;

/** Every attribute that leaves the process. The exporter drops all others. */
export const EXPORTED_ATTRIBUTES: ReadonlySet<string> = new Set([...OWN, ...OF_TEMPORAL]);

/** What is known of a request only when it ends. */
interface EndedRequest {
  readonly method: string;
  /** The declared path; undefined when no route matched. A path as sent may contain a token. */
  readonly route: string | undefined;
  readonly status: number;
  readonly attributes: SpanAttributes;
}

/**
 * Runs a request in a server span, which continues the trace of the client's `traceparent`.
 *
 * @param describe called when `work` has ended
 */
export async function inServerSpan(
  { method, traceparent }: { method: string; traceparent: string | string[] | undefined },
  work: () => Promise<void>,
  describe: () => EndedRequest,
): Promise<void> {
  const parent = propagation.extract(ROOT_CONTEXT, { traceparent });
  await trace
    .getTracer(TRACER)
    .startActiveSpan(method, { kind: SpanKind.SERVER }, parent, async (span) => {
      try {
        await work();
      } finally {
        endServerSpan(span, describe());
      }
    });
}

function endServerSpan(span: Span, { method, route, status, attributes }: EndedRequest): void {
  if (route !== undefined) span.updateName(`${method} ${route}`);
  span.setAttributes({
    ...attributes,
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
  });
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/**
 * Runs a call to another system in a client span. The other system does not receive the trace's
 * context: see docs/observability.md.
 *
 * @param describe what the result adds to the span, and whether the call has failed
 */
export async function inClientSpan<Result>(
  name: string,
  attributes: SpanAttributes,
  work: () => Promise<Result>,
  describe: (result: Result) => { isError: boolean; attributes: SpanAttributes },
): Promise<Result> {
  const options = { kind: SpanKind.CLIENT, attributes };
  return trace.getTracer(TRACER).startActiveSpan(name, options, async (span) => {
    try {
      const result = await work();
      const ended = describe(result);
      span.setAttributes(ended.attributes);
      if (ended.isError) span.setStatus({ code: SpanStatusCode.ERROR });
      return result;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The ids of the current span, for log lines; empty when tracing is off. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const current = trace.getSpan(context.active())?.spanContext();
  if (!current || !isSpanContextValid(current)) return {};
  return { trace_id: current.traceId, span_id: current.spanId };
}
