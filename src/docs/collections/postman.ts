import type { Document } from '../openapi/document.ts';
import type { CollectionFolder, CollectionRequest, Value } from './requests.ts';
import { credentialVariables, environmentsOf, foldersOf } from './requests.ts';

/** The schema by which Postman recognises version 2.1. */
const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/** `disabled` is left out unless true. */
const pairOf = ({ name: key, value, description, disabled }: Value) => ({
  key,
  value,
  description,
  ...(disabled && { disabled }),
});

function urlOf({ path, pathParameters, query }: CollectionRequest) {
  const sent = query.filter(({ disabled }) => !disabled);
  const search = sent.map(({ name, value }) => `${name}=${value}`).join('&');
  return {
    raw: `{{baseUrl}}${path}${search && `?${search}`}`,
    host: ['{{baseUrl}}'],
    path: path.split('/').slice(1),
    query: query.map(pairOf),
    variable: pathParameters.map(pairOf),
  };
}

function bodyOf({ body }: CollectionRequest) {
  if (body === undefined) return {};
  return { body: { mode: 'raw', raw: body, options: { raw: { language: 'json' } } } };
}

function itemOf(request: CollectionRequest) {
  const { name, description, method, headers, body } = request;
  const json = { key: 'Content-Type', value: 'application/json' };
  const header = [...headers.map(pairOf), ...(body === undefined ? [] : [json])];
  const parts = { method, header, url: urlOf(request), description, ...bodyOf(request) };
  return { name, request: parts, response: [] };
}

const folderItem = ({ name, description, requests }: CollectionFolder) => ({
  name,
  description,
  item: requests.map(itemOf),
});

/**
 * A Postman collection, version 2.1, with a request for each operation. Its variable `baseUrl` is the sandbox.
 *
 * @param publicBaseUrl the public URL of the service
 */
export function postmanCollection(document: Document, publicBaseUrl: string) {
  const { title, version, description } = document.info;
  const [{ baseUrl }, ...others] = environmentsOf(document, publicBaseUrl);
  const elsewhere = others.map((one) => `${one.name}: ${one.baseUrl}`).join('\n');
  return {
    info: { name: title, version, description, schema: SCHEMA },
    item: foldersOf(document).map(folderItem),
    auth: { type: 'noauth' },
    variable: [
      { key: 'baseUrl', value: baseUrl, type: 'string', description: elsewhere },
      ...credentialVariables(document).map((key) => ({ key, value: '', type: 'string' })),
    ],
  };
}
