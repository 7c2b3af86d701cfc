import type { Context, TextMapGetter, TextMapPropagator, TextMapSetter } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

const TRACEPARENT = 'traceparent';

/**
 * Carries `traceparent` and nothing else. `tracestate` and `baggage` are texts of the client, which
 * would reach Temporal's database with each workflow.
 */
export class TraceparentPropagator implements TextMapPropagator {
  private readonly whole = new W3CTraceContextPropagator();

  inject(context: Context, carrier: unknown, setter: TextMapSetter): void {
    this.whole.inject(context, carrier, {
      set: (target, key, value) => {
        if (key === TRACEPARENT) setter.set(target, key, value);
      },
    });
  }

  extract(context: Context, carrier: unknown, getter: TextMapGetter): Context {
    return this.whole.extract(context, carrier, {
      keys: () => [TRACEPARENT],
      get: (source, key) => (key === TRACEPARENT ? getter.get(source, key) : undefined),
    });
  }

  fields(): string[] {
    return [TRACEPARENT];
  }
}
