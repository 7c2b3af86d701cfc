import type { Canaries } from './canary.ts';
import type { Place } from './places.ts';
import { searchText } from './search.ts';

/** Searches all places of a kind for all canaries. @returns each canary of each place, and what it stands for */
export function searchPlaces(kind: string, places: readonly Place[], canaries: Canaries) {
  const characters = places.reduce((sum, { text }) => sum + text.length, 0);
  const found = places.flatMap(({ name: place, text }) =>
    [...searchText(text, canaries)].map((canary) => {
      return { place, canary, what: canaries.placeOf(canary) ?? '' };
    }),
  );
  return { kind, places: places.length, characters, found };
}

/** One line for each kind of place, and one for each place and kind of value that was found. */
export function reportText(searched: ReturnType<typeof searchPlaces>): string {
  const { kind, places, characters, found } = searched;
  const size = `${(characters / 1_000_000).toFixed(1)} million characters`;
  const groups = Map.groupBy(found, ({ place, what }) => `${place}: ${what}`);
  return [
    `${kind}: ${places} places, ${size}: ${found.length} found`,
    ...[...groups].map(([key, all]) => `    ${key}: ${all.length}, such as ${all[0]?.canary}`),
  ].join('\n');
}
