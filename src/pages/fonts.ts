import { readFileSync } from 'node:fs';
import { createAsset } from '../http/responses/asset.ts';

const LATIN =
  'U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,U+0329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD';
/** Includes the sign of the rupee, U+20B9. */
const LATIN_EXTENDED =
  'U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+0304,U+0308,U+0329,U+1D00-1DBF,U+1E00-1E9F,U+1EF2-1EFF,U+2020,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF';

/**
 * Inter, and JetBrains Mono for ids. They are variable fonts, so each file has all weights of a range of characters.
 */
const FONTS = [
  {
    family: 'Inter',
    range: LATIN,
    url: import.meta.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'),
  },
  {
    family: 'Inter',
    range: LATIN_EXTENDED,
    url: import.meta.resolve('@fontsource-variable/inter/files/inter-latin-ext-wght-normal.woff2'),
  },
  {
    family: 'JetBrains Mono',
    range: LATIN,
    url: import.meta
      .resolve('@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2'),
  },
].map(({ family, range, url }) => {
  const name = url.slice(url.lastIndexOf('/') + 1);
  return { family, range, asset: createAsset('/files', name, readFileSync(new URL(url))) };
});

export const FONT_ROUTES = FONTS.map(({ asset }) => asset.route);

/**
 * The `@font-face` rules for a style sheet. The URLs are relative, so that they also work behind a path prefix.
 *
 * @param toRoot the path from the style sheet's folder to the root of the service, such as `../..`
 */
export const fontFaces = (toRoot: string): string =>
  FONTS.map(
    ({ family, asset, range }) =>
      `@font-face{font-family:'${family}';font-weight:100 900;font-display:swap;src:url(${toRoot}${asset.path}) format('woff2');unicode-range:${range}}\n`,
  ).join('');
