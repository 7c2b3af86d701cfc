import { readFileSync } from 'node:fs';
import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { createAsset } from '../http/responses/asset.ts';
import type { IconName } from './icons.ts';
import { ICONS } from './icons.ts';

export const PRODUCT = { name: 'Merchant payments', below: 'Paid by UPI, held until delivered' };

export const FAVICON = createAsset(
  '/files',
  'icon.svg',
  readFileSync(new URL('./icon.svg', import.meta.url), 'utf8'),
);

/** The style rules for {@link iconAt}, {@link brandOf} and panels with code. */
export const BRAND_STYLE = readFileSync(new URL('./brand.css', import.meta.url), 'utf8');

/**
 * An icon beside a text with the same meaning; screen readers skip it.
 *
 * @param root the path to the root of the service: that of its public URL, or `.`
 */
export function iconAt(root: string, name: IconName) {
  const href = `${root}${ICONS.path}#${name}`;
  return h('svg', { class: 'icon', 'aria-hidden': 'true' }, h('use', { href }));
}

/** The product's mark beside a name. */
export function brandOf(mark: ComponentChildren, { name, below }: { name: string; below: string }) {
  return [
    h('span', { class: 'mark' }, mark),
    h('span', null, h('bdi', null, name), h('small', null, below)),
  ];
}
