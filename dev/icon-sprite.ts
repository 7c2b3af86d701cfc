import { readFileSync } from 'node:fs';
import { ICON_NAMES } from '../src/pages/icons.ts';

/** An icon of Lucide as a symbol, which a page shows with `<use>`. */
function symbolOf(name: string): string {
  const lucide = import.meta.resolve('lucide-static/package.json');
  const svg = readFileSync(new URL(`icons/${name}.svg`, lucide), 'utf8');
  const shapes = svg.slice(svg.indexOf('>', svg.indexOf('<svg')) + 1, svg.indexOf('</svg>'));
  return `<symbol id="${name}" viewBox="0 0 24 24">${shapes
    .split('\n')
    .map((line) => line.trim())
    .join('')}</symbol>\n`;
}

/** The icons that pages show, taken from lucide-static, which production does not need. */
export function iconSprite(): string {
  const notice =
    '<!-- Icons of Lucide (https://lucide.dev), ISC licence. Made by npm run generate icons. -->';
  const symbols = ICON_NAMES.map(symbolOf).join('');
  return `${notice}\n<svg xmlns="http://www.w3.org/2000/svg">\n${symbols}</svg>\n`;
}
