import { h } from 'preact';

/** The number of colours in the style sheet, each dark enough for white letters. */
const COLOURS = 6;

/**
 * The merchant's initials in a circle. The colour follows from the id. Hidden from screen readers, which read the
 * name.
 */
export function logo(merchantId: string, name: string) {
  const codes = [...merchantId].map((character) => character.codePointAt(0) ?? 0);
  const colour = codes.reduce((sum, code) => sum + code, 0) % COLOURS;
  return h('span', { class: `logo colour-${colour}`, 'aria-hidden': 'true' }, initialsOf(name));
}

const characters = new Intl.Segmenter('hi', { granularity: 'grapheme' });

/** The first letters of the first two words. A Devanagari letter keeps its marks. */
export function initialsOf(name: string): string {
  const words = name.match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu) ?? [];
  const initials = words.slice(0, 2).map((word) => [...characters.segment(word)][0]?.segment ?? '');
  return initials.join('').toUpperCase();
}
