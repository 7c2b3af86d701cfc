import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { isRunning } from '../../dev/processes/process-table.ts';
import { countOption, readCommandLine } from '../../src/main/process/command-line.ts';
import type { Chance, Knowledge } from './fuzz-requests.ts';
import { createChance, fuzzedBytes, fuzzedRequest } from './fuzz-requests.ts';
import type { WholeService } from '../../dev/start/whole-service.ts';
import { startWholeService } from '../../dev/start/whole-service.ts';
import type { ApiClient } from '../support/api-client.ts';
import { createApiClient } from '../support/api-client.ts';

const { values: options } = readCommandLine({
  usage: 'npm run check -- fuzz',
  does: 'Sends odd and malformed requests to the service. It exits with 0 if no answer is 5xx and memory does not grow.',
  options: {
    requests: countOption(100_000, 'requests'),
    seed: countOption(
      (Date.now() % 1_000_000_007) + 1,
      'decides the requests; by default the time',
    ),
  },
});
const REQUESTS = options.requests;
const CONCURRENT = 32;
/** The first part fills caches and lets the heap reach its size. */
const WARM_UP = 0.3;
const MOST_GROWTH = 1.15;
const SAMPLES = 20;

/** The results of all requests so far. */
interface Outcome {
  readonly statuses: Map<string, number>;
  readonly findings: string[];
}

function note({ statuses, findings }: Outcome, status: string, describe: () => string): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status.startsWith('5')) findings.push(`${status}: ${describe()}`);
}

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENT });

/** Sends one request over a keep-alive connection and also checks the form of the response. */
async function sendRequest(origin: URL, chance: Chance, known: Knowledge, outcome: Outcome) {
  const { method, target, headers, body } = fuzzedRequest(chance, known);
  const describe = () =>
    `${method} ${target} ${JSON.stringify(headers)} ${body.toString('latin1')}`;
  const { hostname, port } = origin;
  const length = body.length > 0 ? { 'Content-Length': body.length } : {};
  const sending = request({
    agent,
    hostname,
    port,
    method,
    path: target,
    headers: { ...headers, ...length },
    timeout: 20_000,
  });
  sending.on('timeout', () => sending.destroy(new Error('No answer within 20 s')));
  sending.end(body);
  let response: IncomingMessage;
  const chunks: Buffer[] = [];
  try {
    [response] = (await once(sending, 'response')) as [IncomingMessage];
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // The service may close a connection on which it has refused the request before.
    if (code === 'ECONNRESET' || code === 'EPIPE') return note(outcome, 'closed', describe);
    outcome.findings.push(`${message}: ${describe()}`);
    return;
  }
  note(outcome, String(response.statusCode), describe);
  if (response.headers['x-api-version'] === undefined) {
    outcome.findings.push(`${response.statusCode} without a version: ${describe()}`);
  }
  const isEmpty = chunks.length === 0 && (method === 'HEAD' || response.statusCode === 204);
  if (!isEmpty) JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** After this time without a response the caller sends no more. */
const PATIENCE_MS = 50;

/** Writes bytes to a separate socket and reads the response. */
async function sendBytes(origin: URL, chance: Chance, known: Knowledge, outcome: Outcome) {
  const bytes = fuzzedBytes(chance, known);
  const socket = connect({ host: origin.hostname, port: Number(origin.port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  const done = setTimeout(() => socket.end(), PATIENCE_MS);
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    done.refresh();
  });
  socket.on('error', () => undefined);
  socket.setTimeout(20_000, () => {
    outcome.findings.push(`No end within 20 s: ${bytes.toString('latin1')}`);
    socket.destroy();
  });
  socket.on('end', () => socket.destroy());
  // Often the caller disconnects before the end.
  if (chance.oneIn(8)) socket.write(bytes, () => socket.destroy());
  else socket.write(bytes);
  await once(socket, 'close');
  clearTimeout(done);
  const answers = Buffer.concat(chunks).toString('latin1');
  const statuses = [...answers.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status = '']) => status);
  for (const status of statuses) note(outcome, status, () => bytes.toString('latin1'));
  if (statuses.length === 0) note(outcome, 'no answer', () => '');
}

/** The memory of a process in megabytes. */
function residentMegabytes(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;
}

async function fuzz(service: WholeService, known: Knowledge) {
  const outcome: Outcome = { statuses: new Map(), findings: [] };
  const memory: number[] = [];
  const origin = new URL(service.facts.apiBaseUrl);
  let sent = 0;
  async function client(chance: Chance): Promise<void> {
    while (sent < REQUESTS && outcome.findings.length < 20) {
      if (sent % (REQUESTS / SAMPLES) === 0) {
        memory.push(residentMegabytes(service.apiPid));
        console.log(`${sent} requests, ${Math.round(memory.at(-1) ?? 0)} MB`);
      }
      sent += 1;
      const send = chance.oneIn(4) ? sendBytes : sendRequest;
      await send(origin, chance, known, outcome);
    }
  }
  const { seed } = options;
  await Promise.all(
    Array.from({ length: CONCURRENT }, (_, index) => client(createChance(seed + index))),
  );
  memory.push(residentMegabytes(service.apiPid));
  return { ...outcome, memory };
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Sixty orders, two thirds of them paid. */
async function makeOrders(sandbox: ApiClient): Promise<Knowledge['orderNumbers']> {
  const orderNumbers: [string, ...string[]] = [(await sandbox.create()).order_number];
  while (orderNumbers.length < 60) {
    const order = await sandbox.create();
    if (orderNumbers.length % 3 > 0) await sandbox.help(order, 'pay');
    orderNumbers.push(order.order_number);
  }
  return orderNumbers;
}

async function main(): Promise<number> {
  console.log(`${REQUESTS} requests, --seed=${options.seed}`);
  const service = await startWholeService({ RATE_LIMIT_PER_SECOND: '1000000', LOG_LEVEL: 'warn' });
  const { apiBaseUrl, demoMerchant } = service.facts;
  const sandbox = createApiClient(apiBaseUrl, demoMerchant.sandbox, 'sandbox');
  try {
    const known = {
      ...demoMerchant.sandbox,
      orderNumbers: await makeOrders(sandbox),
    };
    const startedAtMs = performance.now();
    const { statuses, findings, memory } = await fuzz(service, known);
    const seconds = Math.round((performance.now() - startedAtMs) / 1000);
    const warm = memory.slice(Math.floor(memory.length * WARM_UP));
    const before = median(warm.slice(0, 4));
    const after = median(warm.slice(-4));
    if (!isRunning(service.apiPid)) findings.push('The API process is gone');
    if ((await sandbox.get('/orders')).status !== 200) findings.push('No service after it');
    if (after > before * MOST_GROWTH) findings.push(`Memory grew from ${before} to ${after} MB`);
    console.log(
      `${seconds} s; ${before.toFixed(0)} MB after warm-up, ${after.toFixed(0)} MB at the end`,
    );
    console.log(Object.fromEntries(statuses));
    for (const finding of findings) console.log(`FOUND ${finding.slice(0, 2_000)}`);
    return findings.length === 0 ? 0 : 1;
  } finally {
    await service.stop();
  }
}

process.exitCode = await main();
process.exit();
