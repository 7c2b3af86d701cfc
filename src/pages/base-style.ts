import { readFileSync } from 'node:fs';

/** What each style sheet of a page begins with: colours, light and dark, the font, plain elements. */
export const BASE_STYLE = readFileSync(new URL('./base.css', import.meta.url), 'utf8');
