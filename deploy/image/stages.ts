import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetupError } from '../../src/setup-error.ts';

/** A stage of a Dockerfile after its steps: what its image would contain in WORKDIR. */
export interface Stage {
  /** The folder that stands for the stage's root. */
  readonly root: string;
  readonly workdir: string;
  readonly environment: Record<string, string>;
  readonly user: string;
}

/** Where stages are made. */
export interface Build {
  readonly repository: string;
  /** The folder for the stages. */
  readonly folder: string;
  /** The environment of RUN steps. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
}

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

function instructionsOf(dockerfile: string): Instruction[] {
  return readFileSync(dockerfile, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', rest = ''] = /^(\w+) +(\S.*)$/.exec(line) ?? [];
      return { name, rest };
    });
}

/** The files of the build context, by their paths in the repository: what .dockerignore leaves. */
function contextFiles(repository: string): string[] {
  const ignored = readFileSync(join(repository, '.dockerignore'), 'utf8')
    .split('\n')
    .filter(Boolean);
  const list = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: repository, encoding: 'utf8' }).split('\n');
  return files.filter(
    (file) => file !== '' && !ignored.some((path) => file === path || file.startsWith(`${path}/`)),
  );
}

function copyFromContext(
  { repository }: Build,
  sources: string[],
  target: string,
  inFolder: boolean,
) {
  const files = contextFiles(repository);
  for (const source of sources) {
    const found = files.filter((file) => file === source || file.startsWith(`${source}/`));
    if (found.length === 0) throw new SetupError(`COPY: the build context has no ${source}`);
    for (const file of found) {
      const below =
        file === source && inFolder ? file.split('/').at(-1) : file.slice(source.length);
      const to = join(target, below ?? '');
      mkdirSync(dirname(to), { recursive: true });
      cpSync(join(repository, file), to);
    }
  }
}

function copy(build: Build, stage: Stage, stages: Map<string, Stage>, rest: string): void {
  const parts = rest.split(/\s+/);
  const from = parts[0]?.startsWith('--from=') ? parts.shift()?.slice('--from='.length) : undefined;
  const destination = parts.pop() ?? '';
  const target = join(stage.root, stage.workdir, destination);
  if (from === undefined) return copyFromContext(build, parts, target, destination.endsWith('/'));
  const other = stages.get(from);
  if (other === undefined) throw new SetupError(`COPY: there is no stage ${from} yet`);
  for (const source of parts) {
    const path = join(other.root, source);
    const isFolder = statSync(path).isDirectory();
    cpSync(path, target, { recursive: isFolder, verbatimSymlinks: true });
  }
}

function run({ env, log }: Build, { root, workdir, environment }: Stage, command: string): void {
  log(`  RUN ${command}`);
  const cwd = join(root, workdir);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd,
    env: { ...env, ...environment },
    encoding: 'utf8',
  });
  if (status !== 0) throw new SetupError(`RUN ${command}: ${stdout}${stderr}`);
}

function applyTo(build: Build, stages: Map<string, Stage>, stage: Stage, step: Instruction): Stage {
  const { name, rest } = step;
  switch (name) {
    case 'WORKDIR':
      mkdirSync(join(stage.root, rest), { recursive: true });
      return { ...stage, workdir: rest };
    case 'ENV': {
      const [variable = '', value = ''] = rest.split('=');
      return { ...stage, environment: { ...stage.environment, [variable]: value } };
    }
    case 'USER':
      return { ...stage, user: rest };
    case 'COPY':
      copy(build, stage, stages, rest);
      return stage;
    case 'RUN':
      run(build, stage, rest);
      return stage;
    case 'EXPOSE':
    case 'CMD':
      return stage;
    default:
      throw new SetupError(`This check does not know the instruction ${name}`);
  }
}

/**
 * Does the steps of a Dockerfile in folders, with the Node and npm of this machine in place of those of
 * the base image.
 *
 * @returns the stage of a name
 * @throws SetupError at the first step that fails, or that is not known here
 */
export function buildStages(build: Build, dockerfile: string): (name: string) => Stage {
  const stages = new Map<string, Stage>();
  let current = '';
  for (const step of instructionsOf(dockerfile)) {
    if (step.name === 'ARG') continue;
    if (step.name === 'FROM') {
      current = /\sAS\s+(\S+)$/.exec(step.rest)?.[1] ?? '';
      // The last stage has no name: it is the service's again.
      if (current === '') break;
      build.log(`Stage ${current}`);
      const root = join(build.folder, current);
      stages.set(current, { root, workdir: '/', environment: {}, user: '0:0' });
      continue;
    }
    const stage = stages.get(current);
    if (stage === undefined) throw new SetupError(`${step.name} before the first FROM`);
    stages.set(current, applyTo(build, stages, stage, step));
  }
  return (name) => {
    const built = stages.get(name);
    if (built === undefined) throw new SetupError(`The Dockerfile has no stage ${name}`);
    return built;
  };
}

/** The version of Node that the Dockerfile names. */
export function nodeVersionOf(dockerfile: string): string {
  const version = /^ARG NODE_IMAGE=node:(\d+\.\d+\.\d+)-/m.exec(
    readFileSync(dockerfile, 'utf8'),
  )?.[1];
  if (version === undefined) throw new SetupError('The Dockerfile names no exact version of Node');
  return version;
}
