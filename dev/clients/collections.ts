import { readFile } from 'node:fs/promises';
import { openCollection } from '../../src/docs/collections/open-collection.ts';
import { postmanCollection } from '../../src/docs/collections/postman.ts';
import type { Document } from '../../src/docs/openapi/document.ts';
import { installNpm } from '../processes/tool-folder.ts';
import type { Workshop } from './workshop.ts';
import { assertAllRequests } from './workshop.ts';

const PUBLIC_BASE_URL = 'http://127.0.0.1:3000';

/** Postman's own library reads the collection, and writes what it has understood. */
const READ_POSTMAN = `import { readFileSync, writeFileSync } from 'node:fs';
import sdk from 'postman-collection';

const collection = new sdk.Collection(JSON.parse(readFileSync('given.json', 'utf8')));
writeFileSync('read.json', JSON.stringify(collection.toJSON()));
`;

/** Bruno's own importer, which throws for what it does not understand. */
const READ_OPEN_COLLECTION = `import { readFileSync, writeFileSync } from 'node:fs';
import converters from '@usebruno/converters';

const given = JSON.parse(readFileSync('given.json', 'utf8'));
const { items } = converters.openCollectionToBruno(given);
const itemOf = ({ items = [], ...rest }) => ({ ...rest, item: items.map(itemOf) });
writeFileSync('read.json', JSON.stringify(itemOf({ items })));
`;

async function readWith({ write, run, ...workshop }: Workshop, program: string, given: object) {
  await write('given.json', JSON.stringify(given));
  await write('read.mjs', program);
  await run('node', ['read.mjs']);
  await assertAllRequests({ write, run, ...workshop }, 'read.json');
}

const documentOf = async ({ document }: Workshop) =>
  JSON.parse(await readFile(document, 'utf8')) as Document;

/** The collection of `/postman.json`, read by Postman's library. */
export async function ownPostmanCollection(workshop: Workshop): Promise<void> {
  await installNpm(workshop, 'postman-collection@5.3.1');
  const collection = postmanCollection(await documentOf(workshop), PUBLIC_BASE_URL);
  await readWith(workshop, READ_POSTMAN, collection);
}

/** The collection of `/opencollection.json`, read by Bruno's importer. */
export async function ownOpenCollection(workshop: Workshop): Promise<void> {
  await installNpm(workshop, '@usebruno/converters@0.23.0');
  const collection = openCollection(await documentOf(workshop), PUBLIC_BASE_URL);
  await readWith(workshop, READ_OPEN_COLLECTION, collection);
}
