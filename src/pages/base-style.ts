import { readFileSync } from 'node:fs';
import { FONT_FACES } from './fonts.ts';

/** What each style sheet of a page begins with: the font, the design tokens, plain elements. */
export const BASE_STYLE = FONT_FACES + readFileSync(new URL('./base.css', import.meta.url), 'utf8');
