import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, read } from '../repository/files.ts';

const FILES = filesBelow(['src/db/migrations']).toSorted();
const FEATURES = new Set(filesBelow(['src']).map((path) => path.split('/')[1] ?? ''));

test('the migrations are numbered without gaps, have at most 250 lines, and are named after a folder of src', () => {
  expect(FILES.map((path) => Number(basename(path).slice(0, 3)))).toEqual(
    FILES.map((_, index) => index + 1),
  );
  expect(FILES.filter((path) => read(path).trimEnd().split('\n').length > 250)).toEqual([]);
  const owners = FILES.map(
    (path) => /^\d{3}\.do\.([a-z]+)(-[a-z-]+)?\.sql$/.exec(basename(path))?.[1],
  );
  expect(owners.filter((owner) => owner === undefined || !FEATURES.has(owner))).toEqual([]);
});
