import { PayordersError, signBody } from '../../typescript/src/index.ts';
import type { Command, Context } from './command.ts';
import { EXIT, requireVariable } from './command.ts';
import { answerText, isDelivered, sendTo } from './forward.ts';
import { baseUrlOf } from './settings.ts';

interface Check {
  readonly what: string;
  readonly passed: boolean;
  readonly detail: string;
}

/** The signature of a webhook is refused beyond 300 s; a clock that is a minute off will be. */
const MOST_SECONDS = 60;

async function checkService(context: Context): Promise<Check> {
  const url = baseUrlOf(context.env);
  try {
    const response = await fetch(new URL('/openapi.json', url), { redirect: 'manual' });
    await response.arrayBuffer();
    return { what: 'service', passed: response.ok, detail: `${url} answered ${response.status}` };
  } catch {
    return { what: 'service', passed: false, detail: `${url} does not answer` };
  }
}

async function checkClock(context: Context): Promise<Check> {
  const response = await fetch(new URL('/openapi.json', baseUrlOf(context.env)), {
    method: 'HEAD',
  });
  const seconds = Math.round((Date.now() - Date.parse(response.headers.get('Date') ?? '')) / 1000);
  const passed = Math.abs(seconds) <= MOST_SECONDS;
  return { what: 'clock', passed, detail: `this clock is ${seconds} s away from the service's` };
}

async function checkKeys(context: Context): Promise<Check> {
  try {
    await context.client().orders.list({ size: 1 }).page();
    return { what: 'keys', passed: true, detail: 'the service accepts them' };
  } catch (error) {
    if (!(error instanceof PayordersError)) throw error;
    return { what: 'keys', passed: false, detail: `${error.code}: ${error.message}` };
  }
}

async function checkEndpoint(context: Context, url: string): Promise<Check> {
  const secret = requireVariable(context, 'PAYORDERS_WEBHOOK_SECRET');
  const eventId = `evt_doctor_${Date.now()}`;
  const body = JSON.stringify({
    event: 'TEST',
    event_id: eventId,
    sequence: 0,
    timestamp: new Date().toISOString(),
    environment: 'sandbox',
    data: {},
  });
  const answer = await sendTo(url, await signBody(body, { event: 'TEST', eventId }, secret));
  return { what: 'endpoint', passed: isDelivered(answer), detail: `${url}: ${answerText(answer)}` };
}

/** Checks what an integration needs. */
export const doctor: Command = {
  name: 'doctor',
  usage: '[--endpoint URL]',
  does: 'Check the service, the clock, the keys and their environment, and your endpoint',
  options: { endpoint: { type: 'string' } },
  async run(context, { values }) {
    const service = await checkService(context);
    const { endpoint } = values;
    const checks = [
      service,
      ...(service.passed ? [await checkClock(context), await checkKeys(context)] : []),
      ...(typeof endpoint === 'string' ? [await checkEndpoint(context, endpoint)] : []),
    ];
    for (const check of checks) {
      context.print(`${check.passed ? 'ok    ' : 'FAILED'} ${check.what}: ${check.detail}`, check);
    }
    if (!service.passed) return EXIT.unreachable;
    return checks.every(({ passed }) => passed) ? EXIT.done : EXIT.failed;
  },
};
