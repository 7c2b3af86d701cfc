import { h } from 'preact';
import { useContext } from 'preact/hooks';
import type { IconName } from '../../pages/icons.ts';
import { ICONS } from '../../pages/icons.ts';
import { PathPrefix } from './url.ts';

function Icon({ name }: { name: IconName }) {
  const href = `${useContext(PathPrefix)}${ICONS.path}#${name}`;
  return h('svg', { class: 'icon', 'aria-hidden': 'true' }, h('use', { href }));
}

/** An icon beside a text that says the same; screen readers skip it. */
export function icon(name: IconName) {
  return h(Icon, { name });
}
