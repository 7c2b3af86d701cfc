import { readFileSync } from 'node:fs';
import { createAsset } from '../http/responses/asset.ts';
import type { Route } from '../http/define-route.ts';
import { baseStyle } from '../pages/base-style.ts';
import { BRAND_STYLE, FAVICON } from '../pages/brand.ts';
import type { Files } from './view/layout.ts';

/** The parts of the style sheet; src/pages/base.css has the order of their layers. */
const STYLES = ['layout', 'components', 'lists', 'pages', 'review'];

const read = (name: string) => readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8');

/**
 * Declares the routes of the style sheet and the script of the dashboard.
 *
 * @param pathPrefix the path of the service's public URL; '' at the root
 */
export function createFiles(pathPrefix: string): { files: Files; routes: Route[] } {
  const asset = (name: string, content: string) => createAsset('/dashboard/files', name, content);
  const styles = STYLES.map((name) => read(`styles/${name}.css`));
  const style = asset('dashboard.css', [baseStyle('../..'), BRAND_STYLE, ...styles].join('\n'));
  const island = asset('island.js', read('island.js'));
  return {
    files: {
      style: pathPrefix + style.path,
      island: pathPrefix + island.path,
      icon: pathPrefix + FAVICON.path,
    },
    routes: [style.route, island.route],
  };
}
