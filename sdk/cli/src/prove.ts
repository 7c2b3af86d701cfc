import { randomUUID } from 'node:crypto';
import type { SignedEvent } from '../../typescript/src/index.ts';
import { signBody } from '../../typescript/src/index.ts';
import type { Command } from './command.ts';
import { countOf, EXIT, requireWord } from './command.ts';
import type { Answer } from './forward.ts';
import { answerText, isDelivered, sendTo } from './forward.ts';
import { endpointOf, requireSecret } from './settings.ts';

const STALE_MS = 301_000;

interface EventOf {
  readonly event: string;
  readonly sequence: number;
  readonly orderNumber: string;
  readonly description?: string;
  readonly atMs?: number;
  readonly secret?: string;
}

/** What is sent, and what a correct receiver does. */
interface Probe {
  readonly name: string;
  /** Why it matters. */
  readonly rule: string;
  readonly isAccepted: boolean;
  requests(secret: string): Promise<readonly SignedEvent[]>;
}

/** An order that does not exist, as a TEST event has one. */
function bodyOf({ event, sequence, orderNumber, description = 'A proof' }: EventOf) {
  const eventId = `evt_prove_${randomUUID()}`;
  const at = new Date().toISOString();
  const data = {
    order_number: orderNumber,
    amount: 499.5,
    currency: 'INR',
    status: 'ACCEPTED',
    dispute_count: 0,
    buyer: { email: 'buyer@example.com', name: 'Test Buyer', phone: '+910000000000' },
    description,
    payment_url: 'https://example.com/pay/test',
    payment_link_expires_at: at,
    completes_at: null,
    dispute: null,
    refund: null,
    payment: null,
    cancellation: null,
    created_at: at,
    updated_at: at,
  };
  const whole = { event, event_id: eventId, sequence, timestamp: at, environment: 'sandbox', data };
  return { eventId, body: JSON.stringify(whole) };
}

async function signed(about: EventOf, secret: string): Promise<SignedEvent> {
  const { eventId, body } = bodyOf(about);
  return signBody(body, { event: about.event, eventId }, secret, {
    nowMs: about.atMs ?? Date.now(),
  });
}

/** A body that no serialiser writes: Devanagari, `499.50`, `\/` and odd spaces. */
async function unusual(about: EventOf, secret: string): Promise<SignedEvent> {
  const { eventId, body } = bodyOf(about);
  const written = body
    .replace('{"event":"TEST",', '{ "event" : "TEST",  ')
    .replace('"amount":499.5,', '"amount": 499.50,')
    .replace('"A proof"', '"परीक्षण"')
    .replaceAll('/', String.raw`\/`);
  return signBody(written, { event: about.event, eventId }, secret);
}

const ORDER = 'ORD00000000000000000000000000';
const test = (sequence = 0): EventOf => ({ event: 'TEST', sequence, orderNumber: ORDER });

/** The event types of a probe are TEST and one that no receiver knows: nothing real happens. */
const PROBES: readonly Probe[] = [
  {
    name: 'valid',
    rule: 'A webhook with a right signature is answered with 2xx',
    isAccepted: true,
    requests: async (secret) => [await signed(test(), secret)],
  },
  {
    name: 'tampered',
    rule: 'A body that was changed is refused: verify the signature',
    isAccepted: false,
    async requests(secret) {
      const request = await signed(test(), secret);
      return [{ ...request, body: request.body.replace('499.5', '4.5') }];
    },
  },
  {
    name: 'unsigned',
    rule: 'A request without a signature is refused',
    isAccepted: false,
    async requests(secret) {
      const { body } = await signed(test(), secret);
      return [{ body, headers: { 'content-type': 'application/json', 'x-service-event': 'TEST' } }];
    },
  },
  {
    name: 'forged',
    rule: 'A signature with another secret is refused',
    isAccepted: false,
    requests: async () => [await signed(test(), `whsec_${randomUUID().replaceAll('-', '')}`)],
  },
  {
    name: 'stale',
    rule: 'A webhook that was signed more than 300 s ago is refused: it may be a replay',
    isAccepted: false,
    requests: async (secret) => [await signed({ ...test(), atMs: Date.now() - STALE_MS }, secret)],
  },
  {
    name: 'reserialised',
    rule: 'The raw bytes are verified, not a body that was parsed and serialised again',
    isAccepted: true,
    requests: async (secret) => [await unusual(test(), secret)],
  },
  {
    name: 'duplicate',
    rule: 'A repeat is answered with 2xx, or it is sent again until it fails for good',
    isAccepted: true,
    async requests(secret) {
      const request = await signed(test(), secret);
      return [request, request];
    },
  },
  {
    name: 'reordered',
    rule: 'Events may come in another order: an earlier one after a later one is answered with 2xx',
    isAccepted: true,
    requests: async (secret) => [await signed(test(2), secret), await signed(test(1), secret)],
  },
  {
    name: 'unknown',
    rule: 'An event type that the receiver does not know is answered with 2xx: there may be new ones',
    isAccepted: true,
    requests: async (secret) => [
      await signed({ ...test(1), event: 'PROVE_UNKNOWN_EVENT' }, secret),
    ],
  },
  {
    name: 'large',
    rule: 'A body of 30 KiB is accepted: a description may be long',
    isAccepted: true,
    requests: async (secret) => [
      await signed({ ...test(), description: 'अ'.repeat(10_000) }, secret),
    ],
  },
];

interface Finding {
  readonly probe: string;
  readonly rule: string;
  readonly passed: boolean;
  readonly answers: readonly Answer[];
}

async function run(url: string, secret: string, probe: Probe, slowMs: number): Promise<Finding> {
  const answers: Answer[] = [];
  for (const request of await probe.requests(secret)) {
    answers.push(await sendTo(url, request, { timeoutMs: slowMs }));
  }
  const isRefused = ({ status }: Answer) => status !== null && status >= 400 && status < 500;
  const passed = answers.every(probe.isAccepted ? isDelivered : isRefused);
  return { probe: probe.name, rule: probe.rule, passed, answers };
}

/** Checks the time of all answers. The service waits 15 s, which a receiver that works first will exceed one day. */
function slowFinding(findings: readonly Finding[], slowMs: number): Finding {
  const answers = findings.flatMap((finding) => finding.answers);
  const slow = answers.filter(({ durationMs }) => durationMs >= slowMs);
  const rule = `Every answer comes within ${slowMs} ms: answer first, and do the work afterwards`;
  return { probe: 'slow', rule, passed: slow.length === 0, answers: slow };
}

const findingText = ({ probe, rule, passed, answers }: Finding) =>
  `${passed ? 'ok    ' : 'FAILED'} ${probe}: ${rule}${passed ? '' : ` (${answers.map(answerText).join('; ')})`}`;

/** Reports what an endpoint does with right, wrong, late and odd webhooks. */
export const prove: Command = {
  name: 'prove',
  usage: 'URL [--slow MS]',
  does: 'Send right and wrong webhooks to your endpoint, and report what it does with them',
  options: { slow: { type: 'string' } },
  async run(context, given) {
    const url = endpointOf(requireWord(given.words, 'The URL'), 'The URL');
    const secret = await requireSecret(context);
    const slowMs = countOf(given, 'slow', 5000);
    const findings: Finding[] = [];
    for (const probe of PROBES) findings.push(await run(url, secret, probe, slowMs));
    const all = [...findings, slowFinding(findings, slowMs)];
    for (const finding of all) context.print(findingText(finding), finding);
    return all.every(({ passed }) => passed) ? EXIT.done : EXIT.failed;
  },
};
