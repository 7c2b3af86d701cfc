import { readFileSync } from 'node:fs';
import { fontFaces } from './fonts.ts';

const BASE = readFileSync(new URL('./base.css', import.meta.url), 'utf8');

/**
 * What each style sheet of a page begins with: the fonts, the design tokens, plain elements.
 *
 * @param toRoot the way from the folder of the style sheet to the root of the service, such as `../..`
 */
export const baseStyle = (toRoot: string): string => fontFaces(toRoot) + BASE;
