import { test } from 'vitest';
import { letThingsHappen } from './lifecycle-property.ts';

test('10,000 random sequences of commands make no illegal state and no gap, and each order can still end', () => {
  letThingsHappen(10_000, 200);
});
