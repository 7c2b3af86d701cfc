import { describe, expect } from 'vitest';
import { publishedFacts } from '../../dev/dev-facts.ts';
import { runAdmin } from '../../src/main/admin/run.ts';
import { adminProcess } from '../support/admin-cli.ts';
import { databaseTest } from '../support/fixtures.ts';
import { runPart } from '../support/run-part.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PEPPER = 'a pepper for the tests of at least 32 characters';
const KEYS = { apiKey: '', apiSecret: '' };
const USER = { email: '', password: '' };

const test = databaseTest();

function dataDirOf(environment: Record<string, string>): string {
  const folder = temporaryFolder();
  const operator = { ...USER, totpSecret: '' };
  publishedFacts.write(folder, {
    apiBaseUrl: '',
    sandboxBasePath: '',
    productionBasePath: '',
    temporalAddress: '',
    demoMerchant: { merchantId: '', sandbox: KEYS, production: KEYS },
    demoUsers: { merchant: USER, operator, secondOperator: operator },
    environment,
  });
  return folder;
}

describe('the help', () => {
  test('lists every command with its description', async () => {
    const { code, stdout } = await adminProcess({}).run('--help');
    expect(code).toBe(0);
    for (const command of ['merchant create', 'key rotate', 'webhook set', 'keys reseal']) {
      expect(stdout).toContain(`  ${command} `);
    }
    for (const command of ['delivery retry-failed', 'dispute decide', 'order settle']) {
      expect(stdout).toContain(`  ${command} `);
    }
    for (const command of ['order show', 'order retry', 'order recover']) {
      expect(stdout).toContain(`  ${command} `);
    }
    for (const command of ['operator create', 'alert list', 'ledger verify', 'gateway check']) {
      expect(stdout).toContain(`  ${command} `);
    }
    const lines = stdout.split('\n');
    expect(lines.length).toBeLessThanOrEqual(55);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  test('of one command lists its options, and needs no service', async () => {
    const { code, stdout } = await adminProcess({}).run('webhook', 'set', '--help');
    expect(code).toBe(0);
    expect(stdout).toContain('--merchant ID');
    expect(stdout).toContain('--environment sandbox|production');
    expect(stdout).toContain('--url URL');
  });

  test('of a command with a confirmation names the option that skips it', async () => {
    const { stdout } = await adminProcess({}).run('order', 'settle', '--help');
    expect(stdout).toMatch(/^ {2}--yes +Do not ask for confirmation$/m);
    expect(stdout).toContain('asks for confirmation');
  });

  test('of one noun lists its commands', async () => {
    const { stdout } = await adminProcess({}).run('key', '--help');
    expect(stdout).toContain('key rotate');
    expect(stdout).not.toContain('merchant create');
  });
});

describe('in the image', () => {
  test('the help names no program that the image does not have', async () => {
    for (const args of [['--help'], ['order', 'show', '--help'], ['key', '--help']]) {
      const { stdout } = await runPart('src/main/admin.ts', {}, args);
      expect(stdout).toContain('Usage: node src/main/admin.ts ');
      expect(stdout).not.toMatch(/npm/);
    }
  });

  test('a command and a job end with their work, whatever a library keeps open', async ({
    database,
  }) => {
    const env = {
      NODE_OPTIONS: '--import=data:text/javascript,setInterval(()=>{},60000)',
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      API_SECRET_PEPPER: PEPPER,
      WEBHOOK_SECRET_KEYS: `test:${Buffer.alloc(32).toString('base64')}`,
      DATA_ENCRYPTION_KEYS: `test:${Buffer.alloc(32).toString('base64')}`,
    };
    const list = await runPart('src/main/admin.ts', env, ['merchant', 'list', '--json']);
    expect(list).toMatchObject({ code: 0, stdout: '[]\n' });
    const settings = await runPart('src/main/check-settings.ts', env, []);
    expect(settings).toMatchObject({ code: 0 });
    const { DATA_ENCRYPTION_KEYS: _, ...incomplete } = env;
    const refused = await runPart('src/main/check-settings.ts', incomplete, []);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^DATA_ENCRYPTION_KEYS/),
    });
  });
});

describe('a command that is typed wrong is one line, which names the help, and exit code 2', () => {
  test.each([
    [[], 'admin: no command was given; --help lists the commands'],
    [['merchant'], 'admin: there is no command merchant, only merchant create'],
    [['merchant', 'destroy'], 'admin: there is no command merchant destroy'],
    [['order', 'refund'], 'admin: there is no command order refund'],
    [
      ['merchant', 'create', '--name', 'A'],
      'admin merchant create: --email EMAIL is missing; --help lists the options',
    ],
    [['merchant', 'create', '--nam', 'A'], "Unknown option '--nam'"],
    [
      ['key', 'create', '--merchant', 'm', '--environment', 'prod'],
      'must be sandbox or production',
    ],
    [['merchant', 'list', 'all'], "Unexpected argument 'all'"],
    [['order', 'settle', '--yes=no'], "Option '--yes' does not take an argument"],
    [['merchant', 'suspend', '--merchant'], "Option '--merchant <value>' argument missing"],
  ])('%j', async (args, line) => {
    const { stdout, stderr, exitCode } = await runAdmin(args, () => ({}));
    expect({ stdout, exitCode, lines: stderr.split('\n').length }).toEqual({
      stdout: '',
      exitCode: 2,
      lines: 1,
    });
    expect(stderr).toContain(line);
    expect(stderr).toMatch(/; --help lists the (options|commands)$/);
  });

  test('also as a separate process', async () => {
    expect(await adminProcess({}).misuse('merchant', 'destroy')).toContain('there is no command');
  });
});

describe('finding the service', () => {
  test('without one, the error line says how to start it', async () => {
    const line = await adminProcess({}).refusal('merchant', 'list');
    expect(line).toMatch(/No service is running on DATA_DIR .* start it with npm start, or set/);
  });

  test('through the settings that npm start has written to DATA_DIR', async ({ database }) => {
    const DATA_DIR = dataDirOf({ DATABASE_URL: database.url });
    expect(await adminProcess({ DATA_DIR }).json('merchant', 'list')).toEqual([]);
  });

  test('through DATABASE_URL alone', async ({ database }) => {
    const cli = adminProcess({ DATABASE_URL: database.url });
    expect(await cli.json('merchant', 'list')).toEqual([]);
  });

  test('the process’s own settings take precedence over those in DATA_DIR', async ({
    database,
  }) => {
    const DATA_DIR = dataDirOf({ DATABASE_URL: database.url, API_SECRET_PEPPER: PEPPER });
    const cli = adminProcess({ DATA_DIR, API_SECRET_PEPPER: 'short' });
    expect(await cli.refusal('merchant', 'list')).toContain('API_SECRET_PEPPER is wrong');
  });

  test('another DATABASE_URL is another service, which does not use the secrets in DATA_DIR', async ({
    database,
  }) => {
    const environment = { DATABASE_URL: 'postgres://a@127.0.0.1:1/x', API_SECRET_PEPPER: PEPPER };
    const cli = adminProcess({ DATA_DIR: dataDirOf(environment), DATABASE_URL: database.url });
    const create = ['merchant', 'create', '--name', 'A', '--email', 'a@example.com'];
    const { merchantId } = await cli.json<{ merchantId: string }>(...create);
    const line = await cli.refusal('key', 'create', '--merchant', merchantId);
    expect(line).toContain('API_SECRET_PEPPER is missing');
  });

  test('a database that does not respond is reported in one line, without its password', async () => {
    const cli = adminProcess({ DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/x' });
    const line = await cli.refusal('merchant', 'list');
    expect(line).toContain('The database cannot be reached');
    expect(line).not.toContain('hidden');
  });

  test('a Temporal that does not respond is reported in one line', async ({ database }) => {
    await database.sql`
      INSERT INTO merchants (merchant_id, name, email) VALUES ('mer_1', 'A', 'a@example.com')`;
    await database.sql`
      INSERT INTO orders (order_number, merchant_id, environment, gateway, idempotency_key, request_hash,
        amount_paise, description, buyer_email, buyer_phone, payment_token, status, step_number,
        payment_link_expires_at, terms, created_at, updated_at)
      VALUES ('ORD1', 'mer_1', 'sandbox', 'razorpay', 'k', '\\x00', 500, 'd', 'b', 'p', 't',
        'DISPUTE_UNDER_REVIEW', 1, now(), '{}', now(), now())`;
    const cli = adminProcess({ DATABASE_URL: database.url, TEMPORAL_ADDRESS: '127.0.0.1:1' });
    const decide = ['dispute', 'decide', '--order', 'ORD1', '--for', 'buyer', '--reason', 'R'];
    expect(await cli.refusal(...decide)).toContain('Temporal cannot be reached');
  });
});
