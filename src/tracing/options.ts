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
