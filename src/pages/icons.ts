import { readFileSync } from 'node:fs';
import { createAsset } from '../http/responses/asset.ts';

/** The icons of Lucide (https://lucide.dev) in use. `npm run generate -- icons` writes their file. */
export const ICON_NAMES = [
  'badge-indian-rupee',
  'ban',
  'book-open',
  'building-2',
  'check',
  'chevron-right',
  'circle-check',
  'circle-dashed',
  'circle-user',
  'circle-x',
  'clipboard-check',
  'clock',
  'copy',
  'download',
  'ellipsis',
  'file-text',
  'flask-conical',
  'gavel',
  'house',
  'inbox',
  'info',
  'key-round',
  'log-out',
  'mail',
  'scale',
  'scroll-text',
  'search',
  'shopping-bag',
  'store',
  'terminal',
  'triangle-alert',
  'truck',
  'undo-2',
  'users',
  'wallet',
  'webhook',
] as const;

export type IconName = (typeof ICON_NAMES)[number];

/** All icons in one file, which browsers cache. A page shows one with `<use href="…#name">`. */
export const ICONS = createAsset(
  '/files',
  'icons.svg',
  readFileSync(new URL('./icons.svg', import.meta.url), 'utf8'),
);
