import { readFileSync } from 'node:fs';
import { fontFaces } from './fonts.ts';

/**
 * What each style sheet of a page begins with: the font, the design tokens, plain elements. The style sheets are two
 * folders below the root, such as `/pay/files`.
 */
export const BASE_STYLE =
  fontFaces('../..') + readFileSync(new URL('./base.css', import.meta.url), 'utf8');
