import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

/**
 * Writes JSON schemas for kubeconform, which are otherwise downloaded. They are made from the OpenAPI
 * document of Kubernetes and from files with CustomResourceDefinitions, of which Go's modules have both:
 *
 *   go mod download -json k8s.io/kubernetes@v1.34.2        …/api/openapi-spec/swagger.json
 *   go mod download -json github.com/kedacore/keda/v2@v2.21.0   …/config/crd/bases/*.yaml
 *
 *   node deploy/checks/kubernetes-schemas.ts FOLDER SWAGGER.json CRD.yaml…
 */

type Schema = { [key: string]: unknown };

const PREFIX = '#/definitions/';
const KINDS = 'x-kubernetes-group-version-kind';

/** Definitions whose values may also be numbers. */
const TEXT_OR_NUMBER = /(\.IntOrString|resource\.Quantity)$/;

/** The schema that refuses unknown fields, as the API server does with strict validation. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const all = Object.entries(schema as Schema).map(([key, value]) => [key, strict(value)]);
  const made = Object.fromEntries(all) as Schema;
  if (made['x-kubernetes-int-or-string'] === true) made['type'] = ['integer', 'string'];
  const isOpen = made['x-kubernetes-preserve-unknown-fields'] === true;
  if (typeof made['properties'] === 'object' && made['type'] === 'object' && !isOpen) {
    made['additionalProperties'] ??= false;
  }
  return made;
}

/** The definitions that one needs, itself included. */
function reachable(definitions: Schema, name: string, found: Schema = {}): Schema {
  if (found[name] !== undefined) return found;
  found[name] = definitions[name];
  const text = JSON.stringify(definitions[name]);
  for (const [, next = ''] of text.matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)) {
    reachable(definitions, next, found);
  }
  return found;
}

/** `deployment-apps-v1.json`: as kubeconform asks for it. */
function fileName({
  group,
  version,
  kind,
}: {
  group: string;
  version: string;
  kind: string;
}): string {
  const firstPart = group.split('.')[0];
  return `${[kind.toLowerCase(), firstPart, version].filter(Boolean).join('-')}.json`;
}

function writeKubernetes(folder: string, swagger: string): number {
  const document = JSON.parse(readFileSync(swagger, 'utf8')) as { definitions: Schema };
  const definitions = Object.fromEntries(
    Object.entries(document.definitions).map(([name, schema]) => [
      name,
      TEXT_OR_NUMBER.test(name) ? { type: ['string', 'number'] } : strict(schema),
    ]),
  );
  let count = 0;
  for (const [name, schema] of Object.entries(definitions)) {
    const kinds = (schema as Schema)[KINDS] as Parameters<typeof fileName>[0][] | undefined;
    if (kinds?.length !== 1 || kinds[0] === undefined) continue;
    const content = { $ref: PREFIX + name, definitions: reachable(definitions, name) };
    writeFileSync(join(folder, fileName(kinds[0])), JSON.stringify(content));
    count += 1;
  }
  return count;
}

interface CustomResource {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

function writeCustomResources(folder: string, file: string): number {
  const documents = parseAllDocuments(readFileSync(file, 'utf8'));
  let count = 0;
  for (const { spec } of documents.map((document) => document.toJS() as CustomResource)) {
    for (const { name: version, schema } of spec.versions) {
      const { properties, ...rest } = schema.openAPIV3Schema;
      // The CRD leaves the standard fields of metadata to the API server.
      const whole = strict({ ...rest, properties: { ...(properties as Schema), metadata: {} } });
      const place = { group: spec.group, version, kind: spec.names.kind };
      writeFileSync(join(folder, fileName(place)), JSON.stringify(whole));
      count += 1;
    }
  }
  return count;
}

const [folder, swagger, ...customResources] = process.argv.slice(2);
if (folder === undefined || swagger === undefined) {
  process.stderr.write('Usage: kubernetes-schemas.ts FOLDER SWAGGER.json CRD.yaml…\n');
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
let count = writeKubernetes(folder, swagger);
for (const file of customResources) count += writeCustomResources(folder, file);
process.stdout.write(`${count} schemas are in ${folder}\n`);
