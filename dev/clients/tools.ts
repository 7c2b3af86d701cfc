import { join } from 'node:path';
import { installGo, installNpm, installPython, npmProgram } from '../processes/tool-folder.ts';
import { ownOpenCollection, ownPostmanCollection } from './collections.ts';
import type { Workshop } from './workshop.ts';
import { assertAllOperations, assertAllRequests, buildGo, compileStrictly } from './workshop.ts';

/** The generators need version 5, whose API the repository's own compiler no longer has. */
const TYPESCRIPT = 'typescript@5.9.3';

/** A call whose result has types from the document: an amount is a number. */
const OPENAPI_FETCH_CALL = `import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1' });

export async function amountOf(id: string): Promise<number> {
  const { data, error } = await client.GET('/orders/{id}', { params: { path: { id } } });
  if (error) throw new Error(JSON.stringify(error));
  return data.data.amount;
}
`;

const rules = (name: string) => join(import.meta.dirname, 'rules', name);

async function openapiFetch(workshop: Workshop) {
  await installNpm(workshop, 'openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', TYPESCRIPT);
  const program = npmProgram(workshop, 'openapi-typescript');
  await workshop.run(program, [workshop.document, '-o', 'schema.ts']);
  await workshop.write('client.ts', OPENAPI_FETCH_CALL);
  await compileStrictly(workshop, '*.ts');
  await assertAllOperations(workshop, 'schema.ts');
}

async function heyApi(workshop: Workshop) {
  await installNpm(workshop, '@hey-api/openapi-ts@0.99.0', TYPESCRIPT);
  const program = npmProgram(workshop, 'openapi-ts');
  await workshop.run(program, ['-i', workshop.document, '-o', 'client']);
  await compileStrictly(workshop, 'client');
  await assertAllOperations(workshop, 'client/sdk.gen.ts');
}

async function openapiPythonClient(workshop: Workshop) {
  const programs = await installPython(workshop, 'openapi-python-client==0.29.1', 'mypy==2.4.1');
  const generate = ['generate', '--path', workshop.document, '--output-path', 'client'];
  const options = ['--meta', 'none', '--overwrite', '--fail-on-warning'];
  const config = ['--config', rules('openapi-python-client.yaml')];
  const program = join(programs, 'openapi-python-client');
  await workshop.run(program, [...generate, ...options, ...config]);
  await workshop.run(join(programs, 'mypy'), ['--strict', 'client']);
  await assertAllOperations(workshop, 'client/api');
}

async function oapiCodegen(workshop: Workshop) {
  const name = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen';
  const program = await installGo(workshop, name, 'v2.8.2');
  await workshop.run('mkdir', ['-p', 'client']);
  const output = ['-package', 'client', '-o', 'client/client.go'];
  await workshop.run(program, ['-generate', 'types,client', ...output, workshop.document]);
  const modules = [
    'github.com/oapi-codegen/runtime@v1.9.0',
    'github.com/oapi-codegen/nullable@v1.2.0',
  ];
  await buildGo(workshop, ...modules);
  await assertAllOperations(workshop, 'client/client.go');
}

async function ogen(workshop: Workshop) {
  const program = await installGo(workshop, 'github.com/ogen-go/ogen/cmd/ogen', 'v1.24.0');
  const output = ['--target', 'client', '--package', 'client', '--clean'];
  await workshop.run(program, [...output, workshop.document]);
  await buildGo(workshop, 'github.com/ogen-go/ogen@v1.24.0');
  await assertAllOperations(workshop, 'client/oas_client_gen.go');
}

async function postman(workshop: Workshop) {
  await installNpm(workshop, 'openapi-to-postmanv2@6.3.3');
  const program = npmProgram(workshop, 'openapi2postmanv2');
  await workshop.run(program, ['-s', workshop.document, '-o', 'collection.json']);
  await assertAllRequests(workshop, 'collection.json');
}

async function redocly(workshop: Workshop) {
  await installNpm(workshop, '@redocly/cli@2.77.0');
  const lint = ['lint', workshop.document, '--config', rules('redocly.yaml')];
  await workshop.run(npmProgram(workshop, 'redocly'), lint);
}

async function spectral(workshop: Workshop) {
  await installNpm(workshop, '@stoplight/spectral-cli@6.16.3');
  const lint = ['lint', workshop.document, '--ruleset', rules('spectral.yaml')];
  await workshop.run(npmProgram(workshop, 'spectral'), [...lint, '--fail-severity', 'hint']);
}

/** What reads the OpenAPI document, or a collection made from it. Each throws an Error with the tool's output if it is refused. */
export const TOOLS: Readonly<Record<string, (workshop: Workshop) => Promise<void>>> = {
  'openapi-typescript': openapiFetch,
  'hey-api': heyApi,
  'openapi-python-client': openapiPythonClient,
  'oapi-codegen': oapiCodegen,
  ogen,
  'openapi-to-postmanv2': postman,
  'postman-collection': ownPostmanCollection,
  bruno: ownOpenCollection,
  redocly,
  spectral,
};
