import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number };
}

/** A span as OTLP over HTTP in JSON has it. */
interface OtlpSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Attribute[];
}

interface OtlpRequest {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: OtlpSpan[] }[];
  }[];
}

const valuesOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
  );

/** A span with its attributes by name, and the name of its service. */
export type ReceivedSpan = ReturnType<typeof spansOf>[number];

const spansOf = ({ resourceSpans }: OtlpRequest) =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = valuesOf(resource.attributes)['service.name'];
    return scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({ ...span, service, attributes: valuesOf(span.attributes) }));
  });

/** Receives traces as a collector of OpenTelemetry does, OTLP over HTTP in JSON, and keeps them. */
export async function startOtlpReceiver() {
  const bodies: OtlpRequest[] = [];
  const server = createServer((request, response) => {
    const received = json(request).then((body) => {
      bodies.push(body as OtlpRequest);
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
    received.catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
    endpoint: `http://127.0.0.1:${port}`,
    /** Everything that was received, as JSON. */
    text: () => JSON.stringify(bodies),
    spans: (): ReceivedSpan[] => bodies.flatMap(spansOf),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
