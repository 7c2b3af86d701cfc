import { deepEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flagOption, readCommandLine, textOption } from '../../src/main/process/command-line.ts';
import { inheritedEnvironment } from '../../src/settings.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const CHART = 'deploy/helm/merchant-payment-order-service';
const EXAMPLES = join(CHART, 'examples');
const SCRIPTS = ['make-secrets.sh', 'postgres-init.sh', 'temporal-schema.sh'];
/** The version that Helm renders for and kubeconform checks against. */
const KUBERNETES = '1.34.2';

const { values: options } = readCommandLine({
  usage: 'npm run check -- deploy',
  does: 'Checks the files of deploy and docker-compose.yml with the tools that read them. A tool that is not installed is named.',
  options: {
    strict: flagOption('fails if a tool is not installed'),
    schemas: textOption(
      'folder that deploy/checks/kubernetes-schemas.ts wrote; else kubeconform downloads them',
    ),
  },
});
const { PATH, HOME, DOCKER_CONFIG } = inheritedEnvironment();
const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-deploy-'));

/** Fails with the command's output, unless it ends as expected. */
type Run = (command: readonly string[], more?: RunOptions) => string;
interface RunOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** What the error says of a command that must fail. */
  readonly refuses?: RegExp;
}

const run: Run = ([file = '', ...args], { input, env, refuses } = {}) => {
  const { status, stdout, stderr } = spawnSync(file, args, {
    cwd: REPOSITORY,
    // A variable of this shell must not give what deploy/production.yml asks for.
    env: { PATH, HOME, DOCKER_CONFIG, ...env },
    encoding: 'utf8',
    ...(input !== undefined && { input }),
  });
  const isExpected = refuses ? status !== 0 && refuses.test(stderr + stdout) : status === 0;
  if (isExpected) return stdout;
  const expected = refuses ? `a failure that says ${refuses}` : '0';
  throw new Error(
    `${file} ${args.join(' ')}\nends with ${status}, not ${expected}\n${stdout}${stderr}`,
  );
};

interface Check {
  readonly name: string;
  /** The command that prints the version of the tool. */
  readonly tool: readonly string[];
  readonly check: () => void;
}

const COMPOSE = ['docker', 'compose', '--project-directory', '.', '--env-file', '/dev/null'];
const PRODUCTION = ['-f', 'docker-compose.yml', '-f', 'deploy/production.yml'];
const CONFIG = ['--profile', '*', 'config', '--format', 'json'];
/** What production must decide. */
const REQUIRED = {
  SERVICE_VERSION: '1.4.0',
  PUBLIC_BASE_URL: 'https://pay.example.com',
  SITE_ADDRESS: 'pay.example.com',
  MAIL_FROM: 'Payments <no-reply@example.com>',
  PRODUCTION_RAZORPAY_KEY_ID: 'rzp_live_key',
  SECRETS_DIR: '/srv/payments/secrets',
};
const SANDBOX_ONLY = ['gateway-simulator', 'mailbox', 'seed'];

interface Port {
  readonly host_ip?: string;
  readonly published: string;
}

/** The services of a project as Compose understands its files, with the ports that they publish. */
function composeServices(files: readonly string[], env: NodeJS.ProcessEnv) {
  const { services } = JSON.parse(run([...COMPOSE, ...files, ...CONFIG], { env })) as {
    services: Record<string, { ports?: Port[] }>;
  };
  const published = Object.values(services).flatMap(({ ports = [] }) =>
    ports.map(({ host_ip: host = '0.0.0.0', published: port }) => `${host}:${port}`),
  );
  return { names: Object.keys(services), published: published.toSorted() };
}

function checkCompose(): void {
  const sandbox = composeServices([], {});
  deepEqual(
    sandbox.published,
    ['8025', '8080', '8090', '8233'].map((port) => `127.0.0.1:${port}`),
  );
  const production = composeServices(PRODUCTION, REQUIRED);
  deepEqual(production.published, ['0.0.0.0:443', '0.0.0.0:80', '127.0.0.1:8233']);
  const expected = [...sandbox.names, 'proxy', 'api-b', 'worker-b'].filter(
    (name) => !SANDBOX_ONLY.includes(name),
  );
  deepEqual(production.names.toSorted(), expected.toSorted());
  // Nothing that production must decide has a default.
  for (const name of Object.keys(REQUIRED)) {
    run([...COMPOSE, ...PRODUCTION, ...CONFIG], {
      env: { ...REQUIRED, [name]: '' },
      refuses: new RegExp(`required variable ${name} is missing a value`),
    });
  }
}

function checkCaddy(): void {
  const hash = run(['caddy', 'hash-password'], { input: 'password\n' }).trim();
  const env = {
    SITE_ADDRESS: 'pay.example.com',
    API_UPSTREAMS: 'api-1:8080 api-2:8080',
    TEMPORAL_UI_HASH: hash,
    HOME: folder,
  };
  const config = ['--config', 'deploy/Caddyfile', '--adapter', 'caddyfile'];
  run(['caddy', 'validate', ...config], { env });
  run(['caddy', 'fmt', '--diff', 'deploy/Caddyfile']);
}

/** The values of each example. */
const examples = () => readdirSync(join(REPOSITORY, EXAMPLES)).map((file) => join(EXAMPLES, file));

function render(values: string): string {
  return run(['helm', 'template', 'payments', CHART, '-f', values, '--kube-version', KUBERNETES]);
}

function checkHelm(): void {
  for (const values of examples()) {
    run(['helm', 'lint', CHART, '--strict', '-f', values, '--kube-version', KUBERNETES]);
    render(values);
  }
  // Without the values that each operator must give, and with secrets among the settings.
  run(['helm', 'lint', CHART], { refuses: /settings\/PUBLIC_BASE_URL/ });
  const [values = ''] = examples();
  const secret = ['--set', 'settings.API_SECRET_PEPPER=in-plain-text'];
  run(['helm', 'template', CHART, '-f', values, ...secret], { refuses: /settings/ });
}

function checkManifests(): void {
  const local = options.schemas;
  const schemas = local
    ? [`${local}/{{ .ResourceKind }}{{ .KindSuffix }}.json`]
    : [
        'default',
        'https://raw.githubusercontent.com/datreeio/CRDs-catalog/main/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json',
      ];
  const locations = schemas.flatMap((schema) => ['-schema-location', schema]);
  const conform = ['kubeconform', '-strict', '-kubernetes-version', KUBERNETES, ...locations, '-'];
  for (const values of examples()) {
    const manifests = render(values);
    run(conform, { input: manifests });
    const broken = manifests.replace('readOnlyRootFilesystem', 'readOnlyRootFileSystem');
    run(conform, { input: broken, refuses: /is invalid/ });
  }
}

const CHECKS: readonly Check[] = [
  {
    name: 'docker-compose.yml and production.yml',
    tool: ['docker', 'compose', 'version'],
    check: checkCompose,
  },
  {
    name: 'Dockerfile',
    tool: ['hadolint', '--version'],
    check: () => void run(['hadolint', 'deploy/Dockerfile']),
  },
  { name: 'Caddyfile', tool: ['caddy', 'version'], check: checkCaddy },
  {
    name: 'shell scripts',
    tool: ['shellcheck', '--version'],
    check: () => void run(['shellcheck', ...SCRIPTS.map((script) => join('deploy', script))]),
  },
  { name: 'Helm chart', tool: ['helm', 'version', '--short'], check: checkHelm },
  { name: 'Kubernetes manifests', tool: ['kubeconform', '-v'], check: checkManifests },
];

function resultOf({ name, tool, check }: Check): 'passed' | 'failed' | 'not run' {
  const print = (line: string) => process.stdout.write(`${name}: ${line}\n`);
  let version: string;
  try {
    version = run(tool).replaceAll(/\s+/g, ' ').trim();
  } catch {
    print(`not run, because ${tool.slice(0, -1).join(' ')} is not installed`);
    return 'not run';
  }
  try {
    check();
    print(`passed (${version})`);
    return 'passed';
  } catch (error) {
    print(`failed\n${(error as Error).message}`);
    return 'failed';
  }
}

const results = CHECKS.map(resultOf);
rmSync(folder, { recursive: true });
const count = (wanted: string) => results.filter((result) => result === wanted).length;
const [passed, failed, notRun] = [count('passed'), count('failed'), count('not run')];
process.stdout.write(`check deploy: ${passed} passed, ${failed} failed, ${notRun} not run\n`);
process.exitCode = failed > 0 || (options.strict && notRun > 0) ? 1 : 0;
