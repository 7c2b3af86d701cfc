export interface Screen {
  colorScheme: 'light' | 'dark';
  viewport: { width: number; height: number };
}

const screenOf = (colorScheme: Screen['colorScheme'], width: number): Screen => ({
  colorScheme,
  viewport: { width, height: 900 },
});

/** The screen of the quick suite: the narrower one, in the colours that are seen less often in development. */
export const ONE_SCREEN: Screen = screenOf('dark', 360);

/** The screens of the long suite. */
export const OTHER_SCREENS: readonly Screen[] = [
  screenOf('light', 360),
  screenOf('light', 1440),
  screenOf('dark', 1440),
];
