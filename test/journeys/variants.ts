/** How a person looks at the pages of a journey: options of a browser. */
export interface Variant {
  /** The variant in words, for the name of its test. */
  readonly title: string;
  readonly javaScriptEnabled: boolean;
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: { readonly width: number; readonly height: number };
}

function variantOf(
  javaScriptEnabled: boolean,
  width: 390 | 1440,
  colorScheme: Variant['colorScheme'],
): Variant {
  const script = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript';
  return {
    title: `${script}, ${width} pixels wide, ${colorScheme}`,
    javaScriptEnabled,
    colorScheme,
    viewport: { width, height: 900 },
  };
}

const ALL = [true, false].flatMap((javaScriptEnabled) =>
  ([390, 1440] as const).flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) =>
      variantOf(javaScriptEnabled, width, colorScheme),
    ),
  ),
);

/** The variant of each journey in the quick suite: together they have every value of each option. */
export const QUICK = {
  newMerchant: variantOf(true, 390, 'dark'),
  merchantsDay: variantOf(true, 1440, 'light'),
  buyer: variantOf(false, 390, 'light'),
  operatorsShift: variantOf(false, 1440, 'dark'),
  developer: variantOf(true, 390, 'light'),
  operatorsTerminal: variantOf(true, 1440, 'dark'),
} as const;

export const othersThan = (quick: Variant): Variant[] =>
  ALL.filter(({ title }) => title !== quick.title);
