import { setTimeout as sleep } from 'node:timers/promises';
import { context, diag, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { loggingErrorHandler, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { createSafeExporter } from './exporter.ts';
import { TraceparentPropagator } from './propagator.ts';

/** Spans wait in memory, and are dropped when the queue is full: no request waits for the collector. */
const BATCHES = {
  maxQueueSize: 8192,
  maxExportBatchSize: 512,
  scheduledDelayMillis: 1000,
  exportTimeoutMillis: 5000,
};
/** Exports under way; each further batch is dropped. */
const MAX_EXPORTS = 4;
const EXPORT_TIMEOUT_MS = 5000;
const FLUSH_TIMEOUT_MS = 2000;
const FAILURE_INTERVAL_MS = 60_000;

/** Where the spans of a process go, and which of them. */
export interface TracingOptions {
  /** The collector's base URL, without `/v1/traces`. */
  readonly endpoint: string;
  /** Sent with each export, such as a collector's API key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** The share of traces that are kept, from 0 to 1: those that this process begins. */
  readonly samplerRatio: number;
  /** Called when spans could not be exported, at most once a minute. */
  readonly onFailure: (error: unknown) => void;
}

/** A running SDK. */
export interface TracingSdk {
  readonly resource: Resource;
  /** Receives the ended spans of workflows, which are made outside of the provider. */
  readonly spanProcessor: BatchSpanProcessor;
  /** Sends the spans that wait, for at most 2 s. */
  stop(): Promise<void>;
}

/** Starts the SDK and registers it with OpenTelemetry's API for the whole process. */
export function startSdk(options: TracingOptions): TracingSdk {
  const { endpoint, headers, serviceName } = options;
  setGlobalErrorHandler(onceAMinute(options.onFailure));
  const resource = new Resource({ 'service.name': serviceName });
  const spanProcessor = new BatchSpanProcessor(
    createSafeExporter(
      new OTLPTraceExporter({
        url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
        headers,
        timeoutMillis: EXPORT_TIMEOUT_MS,
        concurrencyLimit: MAX_EXPORTS,
      }),
    ),
    BATCHES,
  );
  const provider = new BasicTracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.samplerRatio) }),
    spanProcessors: [spanProcessor],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new TraceparentPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    resource,
    spanProcessor,
    async stop() {
      const ended = new AbortController();
      const flushed = provider.shutdown().catch(() => {});
      await Promise.race([flushed, sleep(FLUSH_TIMEOUT_MS, undefined, { signal: ended.signal })]);
      ended.abort();
      for (const api of [trace, propagation, context, diag]) api.disable();
      setGlobalErrorHandler(loggingErrorHandler());
    },
  };
}

function onceAMinute(onFailure: (error: unknown) => void): (error: unknown) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    const nowMs = performance.now();
    if (nowMs < lastMs + FAILURE_INTERVAL_MS) return;
    lastMs = nowMs;
    onFailure(error);
  };
}
