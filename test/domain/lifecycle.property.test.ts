import { test } from 'vitest';
import { letThingsHappen } from './lifecycle-property.ts';

test('1,000 random sequences of commands make no illegal state and no gap, and each order can still end', () => {
  letThingsHappen(1_000, 5);
});
