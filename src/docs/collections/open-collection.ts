import type { Document } from '../openapi/document.ts';
import type {
  CollectionEnvironment,
  CollectionFolder,
  CollectionRequest,
  Value,
} from './requests.ts';
import { credentialVariables, environmentsOf, foldersOf } from './requests.ts';

/** Only what is switched off says so. */
const entryOf = ({ disabled, ...value }: Value) => ({ ...value, ...(disabled && { disabled }) });

function httpOf({ method, path, pathParameters, query, headers, body }: CollectionRequest) {
  return {
    method,
    url: `{{baseUrl}}${path}`,
    headers: headers.map(entryOf),
    params: [
      ...pathParameters.map((value) => ({ ...entryOf(value), type: 'path' })),
      ...query.map((value) => ({ ...entryOf(value), type: 'query' })),
    ],
    ...(body !== undefined && { body: { type: 'json', data: body } }),
  };
}

function folderItem({ name, description, requests }: CollectionFolder, index: number) {
  const items = requests.map((request, place) => ({
    info: { name: request.name, type: 'http', seq: place + 1 },
    http: httpOf(request),
    docs: request.description,
  }));
  return { info: { name, type: 'folder', seq: index + 1 }, items, docs: description };
}

/** A secret variable has no value in the file: the reader's program keeps it elsewhere. */
function environmentOf({ name, baseUrl }: CollectionEnvironment, credentials: readonly string[]) {
  const variables = [
    { name: 'baseUrl', value: baseUrl },
    ...credentials.map((credential) => ({ name: credential, secret: true })),
  ];
  return { name, variables };
}

/**
 * An OpenCollection, the format of Bruno, in one file: a request for each operation and an environment for each
 * server. https://spec.opencollection.com
 *
 * @param publicBaseUrl the public URL of the service
 */
export function openCollection(document: Document, publicBaseUrl: string) {
  const { title: name, version, description } = document.info;
  const credentials = credentialVariables(document);
  const environments = environmentsOf(document, publicBaseUrl);
  return {
    opencollection: '1.0.0',
    info: { name, version },
    config: { environments: environments.map((one) => environmentOf(one, credentials)) },
    items: foldersOf(document).map(folderItem),
    docs: description,
    bundled: true,
  };
}
