import { asyncLocalStorage } from '@temporalio/activity';
import type { LogLevel, Logger as TemporalLogger, MetricsExporterConfig } from '@temporalio/worker';
import { Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { requestFields } from '../../http/request-context.ts';

const LEVELS = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, string>;

/** The workflow id of an order is its order number. */
const ORDER_NUMBER = /^ORD[0-9A-Z]{26}$/;

function orderOf(workflowId: unknown) {
  const isOrder = typeof workflowId === 'string' && ORDER_NUMBER.test(workflowId);
  return isOrder ? { orderNumber: workflowId } : {};
}

/**
 * The log fields of the current activity: order number, workflow id, type; empty outside of one.
 */
export function activityFields(): Record<string, unknown> {
  const info = asyncLocalStorage.getStore()?.info;
  if (!info) return {};
  const { workflowExecution, activityType } = info;
  const workflowId = workflowExecution?.workflowId;
  return { ...orderOf(workflowId), workflowId, activityType, ...requestFields() };
}

/**
 * Forwards the log lines of Temporal's SDK to the log: those of its native core, which it would
 * print as plain text, and those of workflows, with the order number.
 *
 * @param metrics how the SDK exports its own metrics; absent: not at all
 * @returns the SDK's logger, for SDK functions that take it as an argument
 */
export function logTemporalTo(log: Logger, metrics?: MetricsExporterConfig): TemporalLogger {
  const write = (level: LogLevel, message: string, meta: Record<string, unknown> = {}) => {
    // The SDK has lines of TRACE and DEBUG for each task.
    if (!log.isLevelEnabled(LEVELS[level])) return;
    const { error: err, taskToken: _token, ...fields } = meta;
    log[LEVELS[level]]({ ...orderOf(fields['workflowId']), ...fields, err }, message);
  };
  Runtime.install({
    logger: {
      log: write,
      trace: (message, meta) => write('TRACE', message, meta),
      debug: (message, meta) => write('DEBUG', message, meta),
      info: (message, meta) => write('INFO', message, meta),
      warn: (message, meta) => write('WARN', message, meta),
      error: (message, meta) => write('ERROR', message, meta),
    },
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      ...(metrics && { metrics }),
    },
  });
  // The SDK buffers lines to sort them.
  process.once('exit', () => Runtime.instance().flushLogs());
  return Runtime.instance().logger;
}
