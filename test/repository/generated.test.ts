import { expect, test } from 'vitest';
import { GENERATED } from '../../dev/generate.ts';
import { read } from './files.ts';

test.each(Object.entries(GENERATED))(
  'npm run generate -- %s would change nothing',
  (_, { file, text }) => {
    const current = read(file);
    const contentOf = (written: string): unknown =>
      file.endsWith('.json') ? JSON.parse(written) : written;
    expect(contentOf(current)).toEqual(contentOf(text(current)));
  },
);
