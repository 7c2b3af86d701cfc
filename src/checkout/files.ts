import { readFileSync } from 'node:fs';
import type { Route } from '../http/define-route.ts';
import { createAsset } from '../http/responses/asset.ts';
import { baseStyle } from '../pages/base-style.ts';
import { FAVICON } from '../pages/brand.ts';
import type { Files } from './pages/layout.ts';

const read = (name: string) => readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8');

/**
 * Declares the routes of the style sheet and the script of the buyer's pages.
 *
 * @param pathPrefix the path of the service's public URL, or '' if it has none
 */
export function createFiles(pathPrefix: string): { files: Files; routes: Route[] } {
  const asset = (name: string, before = '') => createAsset('/pay/files', name, before + read(name));
  const style = asset('checkout.css', baseStyle('../..'));
  const island = asset('island.js');
  return {
    files: {
      style: pathPrefix + style.path,
      island: pathPrefix + island.path,
      icon: pathPrefix + FAVICON.path,
    },
    routes: [style.route, island.route],
  };
}
