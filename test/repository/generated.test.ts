import { expect, test } from 'vitest';
import { GENERATED } from '../../dev/generate.ts';
import { read } from './files.ts';

test.each(Object.entries(GENERATED))(
  'npm run generate -- %s would change nothing',
  (_, { file, text }) => {
    const current = read(file);
    expect(text(current)).toBe(current);
  },
);
