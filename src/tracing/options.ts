/** The samplers of OpenTelemetry's specification: the values of OTEL_TRACES_SAMPLER. */
export const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

/** Where the spans of a process go, and which of them. */
export interface TracingOptions {
  /** The collector's base URL, without `/v1/traces`. */
  readonly endpoint: string;
  /** Sent with each export, such as a collector's API key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly sampler: (typeof SAMPLERS)[number];
  /** The share of traces that the samplers by ratio keep, from 0 to 1. */
  readonly samplerRatio: number;
  /** Called when spans could not be exported, at most once a minute. */
  readonly onFailure: (error: unknown) => void;
}
