import { h } from 'preact';
import { useContext } from 'preact/hooks';
import { iconAt } from '../../pages/brand.ts';
import type { IconName } from '../../pages/icons.ts';
import { PathPrefix } from './url.ts';

function Icon({ name }: { name: IconName }) {
  return iconAt(useContext(PathPrefix), name);
}

/** An icon beside a text that says the same; screen readers skip it. */
export function icon(name: IconName) {
  return h(Icon, { name });
}
