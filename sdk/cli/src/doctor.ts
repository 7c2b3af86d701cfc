import type { WebhookEvent } from '../../typescript/src/index.ts';
import { PayordersError, signTestEvent } from '../../typescript/src/index.ts';
import type { Command, Context } from './command.ts';
import { EXIT, UsageError } from './command.ts';
import { answerText, isDelivered, sendTo } from './forward.ts';
import { baseUrlOf, endpointOf, requireSecret } from './settings.ts';

interface Check {
  readonly what: string;
  readonly passed: boolean;
  readonly detail: string;
}

/** The mistakes of the variables and the command line, which cost no request. */
async function mistakesOf(context: Context, endpoint: string | undefined): Promise<Check[]> {
  const found: Check[] = [];
  const look = async (what: string, read: () => unknown) => {
    try {
      await read();
    } catch (error) {
      if (!(error instanceof UsageError || error instanceof PayordersError)) throw error;
      found.push({ what, passed: false, detail: error.message });
    }
  };
  await look('settings', () => context.client());
  const needsSecret = endpoint !== undefined || context.env['PAYORDERS_WEBHOOK_SECRET'];
  if (needsSecret) await look('secret', () => requireSecret(context));
  if (endpoint !== undefined) await look('endpoint', () => endpointOf(endpoint, '--endpoint'));
  return found;
}

function report(context: Context, checks: readonly Check[]): void {
  for (const check of checks) {
    context.print(`${check.passed ? 'ok    ' : 'FAILED'} ${check.what}: ${check.detail}`, check);
  }
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
  const secret = await requireSecret(context);
  const event = { event: 'TEST', event_id: `evt_doctor_${Date.now()}` };
  const data = {} as WebhookEvent['data'];
  const answer = await sendTo(url, await signTestEvent({ ...event, data }, secret));
  return { what: 'endpoint', passed: isDelivered(answer), detail: `${url}: ${answerText(answer)}` };
}

/** Checks what an integration needs. */
export const doctor: Command = {
  name: 'doctor',
  usage: '[--endpoint URL]',
  does: 'Check the service, the clock, the keys and their environment, and your endpoint',
  options: { endpoint: { type: 'string' } },
  async run(context, { values }) {
    const endpoint = typeof values['endpoint'] === 'string' ? values['endpoint'] : undefined;
    const mistakes = await mistakesOf(context, endpoint);
    report(context, mistakes);
    if (mistakes.length > 0) return EXIT.usage;
    const service = await checkService(context);
    const checks = [
      service,
      ...(service.passed ? [await checkClock(context), await checkKeys(context)] : []),
      ...(endpoint !== undefined ? [await checkEndpoint(context, endpoint)] : []),
    ];
    report(context, checks);
    if (!service.passed) return EXIT.unreachable;
    return checks.every(({ passed }) => passed) ? EXIT.done : EXIT.failed;
  },
};
