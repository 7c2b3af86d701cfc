import { asyncLocalStorage } from '@temporalio/activity';
import type { LogLevel, Logger as TemporalLogger } from '@temporalio/worker';
import { Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { requestFields } from '../http/request-context.ts';

const LEVELS = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, string>;

/** An order's workflow has the order's number as its id. */
const ORDER_NUMBER = /^ORD[0-9A-Z]{26}$/;

function orderOf(workflowId: unknown) {
  const isOrder = typeof workflowId === 'string' && ORDER_NUMBER.test(workflowId);
  return isOrder ? { orderNumber: workflowId } : {};
}

/** For the log lines of an activity: whose it is. None outside of one. */
export function activityFields(): Record<string, unknown> {
  const info = asyncLocalStorage.getStore()?.info;
  if (!info) return {};
  const { workflowExecution, activityType } = info;
  const workflowId = workflowExecution?.workflowId;
  return { ...orderOf(workflowId), workflowId, activityType, ...requestFields() };
}

/**
 * Makes every line of Temporal's SDK a line of the log: those of its native half, which it would
 * print as plain text, and those of workflows, with the order's number.
 *
 * @returns the SDK's own logger, for those parts of it that want it as an argument
 */
export function logTemporalTo(log: Logger): TemporalLogger {
  const write = (level: LogLevel, message: string, meta: Record<string, unknown> = {}) => {
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
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
  });
  // It keeps lines for a moment, to put them in order.
  process.once('exit', () => Runtime.instance().flushLogs());
  return Runtime.instance().logger;
}
