import { readFileSync } from 'node:fs';
import { fontFaces } from './fonts.ts';

const BASE = readFileSync(new URL('./base.css', import.meta.url), 'utf8');

/**
 * The beginning of every page's style sheet: fonts, design tokens, plain elements.
 *
 * @param toRoot the path from the style sheet's folder to the root of the service, such as `../..`
 */
export const baseStyle = (toRoot: string): string => fontFaces(toRoot) + BASE;
