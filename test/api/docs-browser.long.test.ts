import { documentationTest, expectReadable } from './docs-screens.ts';

const test = documentationTest();

test.for([
  ['light', 'a phone', { width: 360, height: 740 }],
  ['light', 'a desk', { width: 1440, height: 900 }],
  ['dark', 'a desk', { width: 1440, height: 900 }],
] as const)(
  '/docs in %s on %s is accessible to axe-core and not wider than the screen',
  async ([colorScheme, _name, viewport], { service, newPhone }) => {
    await expectReadable(`${service.origin}/docs`, newPhone, { colorScheme, viewport });
  },
);
