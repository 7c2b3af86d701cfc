import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ICON_SPRITE, iconSprite } from '../../dev/icon-sprite.ts';

test('the icons are those that npm run generate -- icons writes', () => {
  expect(readFileSync(ICON_SPRITE, 'utf8')).toBe(iconSprite());
});
