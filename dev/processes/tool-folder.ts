import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { inheritedEnvironment } from '../../src/settings.ts';
import { runCommand } from './run-command.ts';

/**
 * Makes a folder in which a check installs and runs the tools of others.
 *
 * @param more variables of every command, beside those of this process
 */
export async function openToolFolder(folder: string, more: NodeJS.ProcessEnv = {}) {
  await mkdir(folder, { recursive: true });
  const inherited = inheritedEnvironment();
  const PATH = [dirname(process.execPath), inherited['PATH']].join(delimiter);
  return {
    folder,
    /**
     * Runs a command in the folder, or in `cwd`, with further variables. Every program runs with the Node.js of
     * this process.
     *
     * @returns its output
     * @throws Error with the output, unless it exits with 0
     */
    async run(
      file: string,
      args: readonly string[],
      { cwd = folder, env = {} }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
    ): Promise<string> {
      const settings = { cwd, env: { ...inherited, PATH, ...more, ...env } };
      const { succeeded, output } = await runCommand(file, args, settings);
      if (!succeeded) throw new Error(`${file} ${args.join(' ')}\n${output}`);
      return output;
    },
    /** Writes a file of the folder. */
    write: (name: string, content: string) => writeFile(join(folder, name), content),
  };
}

/** See {@link openToolFolder}. */
export type ToolFolder = Awaited<ReturnType<typeof openToolFolder>>;

/** Installs npm packages, none of whose scripts run. @param packages with exact versions */
export async function installNpm({ run, write }: ToolFolder, ...packages: string[]): Promise<void> {
  await write('package.json', JSON.stringify({ private: true, type: 'module' }));
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', '--ignore-scripts', '--save-exact', ...quiet, ...packages]);
}

/** The path of a program that `installNpm` has installed. */
export const npmProgram = ({ folder }: ToolFolder, name: string) =>
  join(folder, 'node_modules/.bin', name);

/** Installs Python packages in a virtual environment. @returns the folder of its programs, such as `python` */
export async function installPython(
  { folder, run }: ToolFolder,
  ...packages: string[]
): Promise<string> {
  const programs = join(folder, 'venv/bin');
  await run('python3', ['-m', 'venv', 'venv']);
  const quiet = ['--quiet', '--disable-pip-version-check'];
  await run(join(programs, 'python'), ['-m', 'pip', 'install', ...quiet, ...packages]);
  return programs;
}

/** Builds a Go program into the folder. @param program its package @returns its path */
export async function installGo(
  { folder, run }: ToolFolder,
  program: string,
  version: string,
): Promise<string> {
  const bin = join(folder, 'bin');
  await run('go', ['install', `${program}@${version}`], { env: { GOBIN: bin } });
  return join(bin, program.slice(program.lastIndexOf('/') + 1));
}
