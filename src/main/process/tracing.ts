import type { ClientOptions } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';

/** What the parts of a process need for traces; nothing without an endpoint. */
export interface Tracing {
  /** For the Temporal client: its calls are spans, and their workflows continue the trace. */
  readonly client: Pick<ClientOptions, 'interceptors'>;
  /** For the workers: activities are spans, and workflows hand their spans over. */
  readonly worker: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  /** True when the workflow bundle must contain the interceptors of workflows. */
  readonly isOn: boolean;
  /** Sends the spans that wait, for at most 2 s. */
  stop(): Promise<void>;
}

const OFF: Tracing = { client: {}, worker: {}, isOn: false, stop: async () => {} };

/** Starts tracing if OTEL_EXPORTER_OTLP_ENDPOINT is set; otherwise loads nothing. */
export async function startTracing(
  { tracing }: Pick<Config, 'tracing'>,
  processName: 'api' | 'worker',
  log: Logger,
): Promise<Tracing> {
  const { otelExporterOtlpEndpoint: endpoint, ...more } = tracing;
  if (endpoint === undefined) return OFF;
  const { startSdk } = await import('../../tracing/sdk.ts');
  const { interceptorsOf } = await import('../../tracing/temporal.ts');
  const sdk = startSdk({
    endpoint,
    headers: more.otelExporterOtlpHeaders ?? {},
    serviceName: `payment-order-service-${processName}`,
    samplerRatio: more.otelTracesSamplerArg,
    onFailure: (err) => log.warn({ err }, 'Traces could not be exported'),
  });
  return { ...interceptorsOf(sdk), isOn: true, stop: () => sdk.stop() };
}
