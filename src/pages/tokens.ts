import { readFileSync } from 'node:fs';

/** The colours and the font of all pages, light and dark: each style sheet begins with them. */
export const TOKENS = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');
