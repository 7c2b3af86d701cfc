import { once } from 'node:events';
import { createServer, request as sendOn } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished } from 'vitest';
import { publishedFacts } from '../../dev/dev-facts.ts';
import { runPart } from '../support/run-part.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = serviceTest({ time: 'real' });

/** A proxy of the service that refuses requests whose path has a given end. */
async function serviceRefusing(service: TestService, ending: string): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url?.endsWith(ending)) {
      response.writeHead(400).end(JSON.stringify({ message: 'Refused on purpose', data: null }));
      return;
    }
    const { method = 'GET', headers } = request;
    const forwarded = sendOn(`${service.origin}${request.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function demoAgainst(service: TestService, apiBaseUrl: string) {
  const dataDir = temporaryFolder();
  const keys = { apiKey: '', apiSecret: '' };
  const user = { email: '', password: '' };
  const operator = { ...user, totpSecret: '' };
  publishedFacts.write(dataDir, {
    apiBaseUrl,
    sandboxBasePath: '/sandbox/api/merchant/v1',
    productionBasePath: '/api/merchant/v1',
    temporalAddress: '',
    demoMerchant: { merchantId: '', sandbox: keys, production: keys },
    demoUsers: { merchant: user, operator, secondOperator: operator },
    environment: service.env,
  });
  return runPart('dev/demo.ts', { DATA_DIR: dataDir });
}

describe('npm run demo', () => {
  test.for([
    ['/orders', 'The merchant creates an order of ₹499.50'],
    ['/deliver', 'The merchant marks it delivered'],
    ['/advance', '24 hours pass on the sandbox clock'],
  ] as const)('ends with 1 at the step that differs: %s', async ([ending, step], { service }) => {
    const { code, stdout, stderr } = await demoAgainst(
      service,
      await serviceRefusing(service, ending),
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${step}: not as specified`)]);
    expect(stdout).not.toContain('Every step was as');
  });
});
