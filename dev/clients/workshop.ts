import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { npmProgram, type ToolFolder } from '../processes/tool-folder.ts';

/** The folder of one tool that reads the OpenAPI document. */
export interface Workshop extends ToolFolder {
  /** The file with the document. */
  readonly document: string;
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
