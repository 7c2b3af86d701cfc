/** A part of a sentence: a text, or a value that each page formats itself. */
export type SentencePart = string | { readonly at: Date } | { readonly amountPaise: number };
export type Sentence = readonly SentencePart[];

/** Tags a template. Its texts and its values become the parts of a sentence. */
export function sentence(
  texts: TemplateStringsArray,
  ...values: readonly SentencePart[]
): Sentence {
  return texts.flatMap((text, index) => [text, values[index] ?? '']);
}

const UNITS = [
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  { unit: 'minute', ms: 60_000 },
  { unit: 'second', ms: 1000 },
] as const;

/** "24 hours", in the largest unit of which there are at least two. */
export function durationText(durationMs: number): string {
  const { unit, ms } = UNITS.find((one) => durationMs >= 2 * one.ms) ?? UNITS[3];
  const count = Math.round(durationMs / ms);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
