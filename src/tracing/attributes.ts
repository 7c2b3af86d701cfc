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
export type SpanAttributes = Partial<Record<(typeof OWN)[number], string | number | undefined>>;

/** Every attribute that leaves the process. The exporter drops all others. */
export const EXPORTED_ATTRIBUTES: ReadonlySet<string> = new Set([...OWN, ...OF_TEMPORAL]);
