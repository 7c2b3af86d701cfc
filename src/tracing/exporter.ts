import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { EXPORTED_ATTRIBUTES } from './spans.ts';

/** Of an exception, its kind: a message can contain values, and a stack repeats the message. */
const EXPORTED_OF_EXCEPTIONS: ReadonlySet<string> = new Set(['exception.type']);

function only(names: ReadonlySet<string>, attributes: Attributes = {}): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => names.has(name)));
}

/** A span without the texts that its creator may have added, such as messages of errors. */
function withoutTexts(span: ReadableSpan): ReadableSpan {
  const events = span.events
    .filter(({ name }) => name === 'exception')
    .map(({ name, time, attributes }) => ({
      name,
      time,
      attributes: only(EXPORTED_OF_EXCEPTIONS, attributes),
    }));
  return Object.create(span, {
    attributes: { value: only(EXPORTED_ATTRIBUTES, span.attributes) },
    status: { value: { code: span.status.code } },
    events: { value: events },
    links: { value: span.links.map(({ context }) => ({ context })) },
  }) as ReadableSpan;
}

/**
 * Lets only named attributes leave the process, also of spans that this service did not make: Temporal's
 * interceptors record the message of each error and everything that a workflow's info contains.
 */
export function createSafeExporter(exporter: SpanExporter): SpanExporter {
  return {
    export: (spans, done) => exporter.export(spans.map(withoutTexts), done),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
