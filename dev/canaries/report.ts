import type { Canaries } from './canary.ts';
import type { Place } from './places.ts';
import { searchText } from './search.ts';

/** The result of searching places of one kind. */
export interface Searched {
  readonly kind: string;
  readonly places: number;
  readonly characters: number;
  /** Where each canary was found: place, canary, and what it stood for. */
  readonly found: readonly {
    readonly place: string;
    readonly canary: string;
    readonly what: string;
  }[];
}

/** Searches all places of a kind for all canaries. */
export async function searchPlaces(
  kind: string,
  places: readonly Place[],
  canaries: Canaries,
): Promise<Searched> {
  const found: { place: string; canary: string; what: string }[] = [];
  let characters = 0;
  for (const place of places) {
    const seen = new Set<string>();
    for await (const text of place.texts()) {
      characters += text.length;
      for (const canary of searchText(text, canaries)) seen.add(canary);
    }
    for (const canary of seen) {
      found.push({ place: place.name, canary, what: canaries.placeOf(canary) ?? '' });
    }
  }
  return { kind, places: places.length, characters, found };
}

/** One line for each kind of place, and one for each place and kind of value that was found. */
export function reportText({ kind, places, characters, found }: Searched): string {
  const size = `${(characters / 1_000_000).toFixed(1)} million characters`;
  const lines = new Map<string, { count: number; example: string }>();
  for (const { place, canary, what } of found) {
    const key = `${place}: ${what}`;
    lines.set(key, { count: (lines.get(key)?.count ?? 0) + 1, example: canary });
  }
  return [
    `${kind.padEnd(40)} ${String(places).padStart(4)} places, ${size}: ${found.length} found`,
    ...[...lines].map(([key, { count, example }]) => `    ${key}: ${count}, such as ${example}`),
  ].join('\n');
}
