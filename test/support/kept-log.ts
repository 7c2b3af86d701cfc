import { pino } from 'pino';
import { requestFields } from '../../src/http/request-context.ts';

export interface LogLine {
  level: number;
  msg: string;
  alert?: string;
  orderNumber?: string;
  gatewayPaymentId?: string;
  subject?: string;
}
const WARN = 40;

/** A log that keeps its warnings and errors, and prints all of it if TEST_LOG_LEVEL is set. */
export function keepingLog() {
  const logged: LogLine[] = [];
  const level = process.env['TEST_LOG_LEVEL'];
  const write = (line: string) => {
    if (level !== undefined) process.stdout.write(line);
    const parsed = JSON.parse(line) as LogLine;
    if (parsed.level >= WARN) logged.push(parsed);
  };
  return { log: pino({ level: level ?? 'warn', mixin: requestFields }, { write }), logged };
}
