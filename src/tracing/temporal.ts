import type { ClientOptions } from '@temporalio/client';
import type { OpenTelemetrySinks } from '@temporalio/interceptors-opentelemetry';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryActivityOutboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { InjectedSinks, WorkerOptions } from '@temporalio/worker';
import type { TracingSdk } from './sdk.ts';

/** Temporal's interceptors of clients and workers. Those of workflows are in the workflow bundle. */
export function interceptorsOf({ resource, spanProcessor }: TracingSdk): {
  client: Pick<ClientOptions, 'interceptors'>;
  worker: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
} {
  const sinks: InjectedSinks<OpenTelemetrySinks> = {
    exporter: makeWorkflowExporter(spanProcessor, resource),
  };
  return {
    client: { interceptors: { workflow: [new OpenTelemetryWorkflowClientInterceptor()] } },
    worker: {
      sinks,
      interceptors: {
        activity: [
          (activity) => ({
            inbound: new OpenTelemetryActivityInboundInterceptor(activity),
            outbound: new OpenTelemetryActivityOutboundInterceptor(activity),
          }),
        ],
      },
    },
  };
}
