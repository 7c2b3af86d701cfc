import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../processes/run-command.ts';

/** The folder of one tool, and what its check does there. */
export interface Workshop {
  readonly folder: string;
  /** The file with the OpenAPI document. */
  readonly document: string;
  /** Runs a command in the folder. @returns its output @throws Error with the output if it fails */
  readonly run: (file: string, args: readonly string[]) => Promise<string>;
  /** Writes a file of the folder. */
  readonly write: (name: string, content: string) => Promise<void>;
}

/** What the workshops of a run share. */
export interface WorkshopOptions {
  readonly document: string;
  /** The folder of all tools. */
  readonly work: string;
  /** The environment of every command. */
  readonly env: NodeJS.ProcessEnv;
}

/** Makes the folder of a tool. */
export async function openWorkshop(
  name: string,
  { document, work, env }: WorkshopOptions,
): Promise<Workshop> {
  const folder = join(work, name);
  await mkdir(folder, { recursive: true });
  return {
    folder,
    document,
    async run(file, args) {
      const { succeeded, output } = await runCommand(file, args, { cwd: folder, env });
      if (!succeeded) throw new Error(`${file} ${args.join(' ')}\n${output}`);
      return output;
    },
    write: (file, content) => writeFile(join(folder, file), content),
  };
}

/** Installs npm packages, none of whose scripts run. @param packages with exact versions */
export async function installNpm({ run, write }: Workshop, ...packages: string[]): Promise<void> {
  await write('package.json', JSON.stringify({ private: true, type: 'module' }));
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', '--ignore-scripts', '--save-exact', ...quiet, ...packages]);
}

/** The path of a program that `installNpm` has installed. */
export const npmProgram = ({ folder }: Workshop, name: string) =>
  join(folder, 'node_modules/.bin', name);

/** Installs Python packages in a virtual environment. @returns the folder of its programs */
export async function installPython(
  { folder, run }: Workshop,
  ...packages: string[]
): Promise<string> {
  const programs = join(folder, 'venv/bin');
  await run('python3', ['-m', 'venv', 'venv']);
  const quiet = ['--quiet', '--disable-pip-version-check'];
  await run(join(programs, 'python'), ['-m', 'pip', 'install', ...quiet, ...packages]);
  return programs;
}

/** Builds a Go program into the workshop's own folder. @returns its path */
export async function installGo(
  { folder, run }: Workshop,
  program: string,
  version: string,
): Promise<string> {
  const bin = join(folder, 'bin');
  await run('env', [`GOBIN=${bin}`, 'go', 'install', `${program}@${version}`]);
  return join(bin, program.slice(program.lastIndexOf('/') + 1));
}

/** Compiles the Go package `client`. @param modules that it imports, with exact versions */
export async function buildGo({ run, write }: Workshop, ...modules: string[]): Promise<void> {
  await write('go.mod', 'module example.test/check\n\ngo 1.25\n');
  await run('go', ['get', ...modules]);
  await run('go', ['build', '-mod=mod', './client']);
}

/** Compiles TypeScript with a strict compiler. @param include the files, relative to the folder */
export async function compileStrictly(workshop: Workshop, include: string): Promise<void> {
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: [],
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
  };
  await workshop.write('tsconfig.json', JSON.stringify({ compilerOptions, include: [include] }));
  await workshop.run(npmProgram(workshop, 'tsc'), ['-p', '.']);
}

/** The operation ids of the document. */
async function operationIdsIn(document: string): Promise<string[]> {
  const { paths } = JSON.parse(await readFile(document, 'utf8')) as {
    paths: Record<string, Record<string, { operationId?: string }>>;
  };
  return Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap(({ operationId }) => operationId ?? []);
}

/**
 * Some generators leave out an operation that they do not understand, and succeed.
 *
 * @param client the folder or the file of the client
 * @throws Error with the operations that are not in the client, in whatever case it writes names
 */
export async function assertAllOperations(
  { folder, document }: Workshop,
  client: string,
): Promise<void> {
  const root = join(folder, client);
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(
    (files.length > 0 ? files : [root]).map(
      async (file) => `${file} ${await readFile(file, 'utf8')}`,
    ),
  );
  const written = texts.join('\n').replaceAll('_', '').toLowerCase();
  const absent = (await operationIdsIn(document)).filter(
    (id) => !written.includes(id.toLowerCase()),
  );
  if (absent.length > 0) throw new Error(`The client has no ${absent.join(', ')}`);
}

/** @throws Error unless the Postman collection has as many requests as the document has operations */
export async function assertAllRequests(
  { folder, document }: Workshop,
  collection: string,
): Promise<void> {
  interface Item {
    readonly request?: unknown;
    readonly item?: readonly Item[];
  }
  const requestsIn = ({ request, item = [] }: Item): number =>
    item.reduce((sum, one) => sum + requestsIn(one), request === undefined ? 0 : 1);
  const found = requestsIn(JSON.parse(await readFile(join(folder, collection), 'utf8')) as Item);
  const expected = (await operationIdsIn(document)).length;
  if (found !== expected) throw new Error(`${found} requests for ${expected} operations`);
}
