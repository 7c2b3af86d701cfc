import { defineConfig, type OxlintOverride } from 'oxlint';

/** What a part is called in the table below: its folder, or its file, of `src` or beside it. */
const FEATURES = [
  'orders',
  'merchants',
  'checkout',
  'payments',
  'webhooks',
  'ledger',
  'accounts',
  'mail',
  'onboarding',
  'privacy',
  'proposals',
  'dashboard',
  'docs',
] as const;
const PLATFORM = ['alerts', 'http', 'pages', 'db', 'metrics', 'temporal', 'tracing'] as const;
const FILES = [
  'config.ts',
  'service-settings.ts',
  'settings.ts',
  'setup-error.ts',
  'tokens.ts',
  'secret-box.ts',
  'for-each-order.ts',
  'background-work.ts',
  'limiter.ts',
  'reports.ts',
] as const;
const BESIDE_SRC = ['activities', 'workflows', 'dev'] as const;
const PARTS = [
  'domain',
  'contracts',
  ...FEATURES,
  ...PLATFORM,
  ...FILES,
  'main',
  ...BESIDE_SRC,
] as const;
type Part = (typeof PARTS)[number];

const FEATURE_MAY_IMPORT: readonly Part[] = [
  'domain',
  'contracts',
  'alerts',
  'http',
  'pages',
  'db',
  'temporal',
  'tracing',
  'tokens.ts',
  'secret-box.ts',
  'for-each-order.ts',
  'background-work.ts',
  'limiter.ts',
  'reports.ts',
];

/** The arrows of ARCHITECTURE.md: what each folder may import, beside itself. */
const ARROWS: Record<string, readonly Part[]> = {
  'src/domain': [],
  'src/contracts': ['domain'],
  'src/alerts': ['domain', 'reports.ts', ...PLATFORM],
  'src/http': ['domain', 'limiter.ts', 'reports.ts', ...PLATFORM],
  'src/pages': ['domain', ...PLATFORM],
  'src/db': ['domain', ...PLATFORM],
  'src/metrics': ['domain', ...PLATFORM],
  'src/temporal': ['domain', 'contracts', 'limiter.ts', 'settings.ts', ...PLATFORM],
  'src/tracing': [],
  ...Object.fromEntries(FEATURES.map((feature) => [`src/${feature}`, FEATURE_MAY_IMPORT])),
  'src/payments': [...FEATURE_MAY_IMPORT, 'settings.ts'],
  'src/main': PARTS.filter((part) => part !== 'dev'),
  workflows: ['domain', 'contracts'],
  activities: ['domain', 'contracts', 'alerts', 'db', 'temporal', 'for-each-order.ts', ...FEATURES],
};

/** Imports of packages that a folder is held to; elsewhere every dependency may be imported. */
const PACKAGES: Record<string, { regex: string; message: string }> = {
  'src/domain': { regex: '^[^.]', message: 'The domain is pure' },
  'src/contracts': { regex: '^[^.]', message: 'Workflows import the contracts' },
  workflows: {
    regex:
      '^[^.@]|^@[^t]|^@temporalio/(client|worker|activity|testing|core-bridge|envconfig|proto)',
    message: 'Workflow code is deterministic',
  },
};

const asPattern = (part: Part) => (part.endsWith('.ts') ? part.replace('.', '\\.') : `${part}/`);

/**
 * Words that hide who does what, in comments. CONTRIBUTING.md says which terms to use: those of the
 * glossary in ARCHITECTURE.md.
 */
const WORDS = [
  'the book',
  'the books',
  'for ever',
  'gives back',
  'goes on',
  'hearsay',
  'hears of',
  'heard of',
  'lets go',
  'nobody',
  'patiently',
  'somebody',
  'stands still',
  'unheard',
  'whoever',
];

/** Names for which the glossary has another one. */
const NAMES = [
  'because',
  'book',
  'busy',
  'crew',
  'desk',
  'forUpdate',
  'giveBack',
  'mend',
  'patiently',
  'told',
  'unheard',
];

const NO_TIME_IN_TESTS =
  'A test waits for something, counts or compares; it never measures this machine (test/README.md)';

/** What would make a test depend on the speed of the machine. */
const CLOCKS_OF_THE_MACHINE = [
  { object: 'performance', property: 'now', message: NO_TIME_IN_TESTS },
  { object: 'AbortSignal', property: 'timeout', message: NO_TIME_IN_TESTS },
  { object: 'vi', property: 'setConfig', message: NO_TIME_IN_TESTS },
  { object: 'vi', property: 'waitFor', message: 'Use until, or expect.poll' },
  { object: 'vi', property: 'waitUntil', message: 'Use until, or expect.poll' },
];
const TIMERS = ['setTimeout', 'setInterval'].map((name) => ({ name, message: NO_TIME_IN_TESTS }));

/** Another feature is known by its public face alone. */
function publicFacesOnly(feature: string) {
  const others = FEATURES.filter((other) => other !== feature);
  return {
    group: others.flatMap((other) =>
      ['../', '../../'].flatMap((up) => [`${up}${other}/*`, `!${up}${other}/public.ts`]),
    ),
    message: 'A feature imports of another one only its public.ts',
  };
}

/** The rule that holds one folder to its arrows. */
function arrowsOf(folder: string, mayImport: readonly Part[]): OxlintOverride {
  const own = folder.replace('src/', '');
  const isFeature = (FEATURES as readonly string[]).includes(own);
  const allowed = [...mayImport, own, ...(isFeature ? FEATURES : [])];
  const forbidden = PARTS.filter((part) => !allowed.includes(part)).map(asPattern);
  const patterns = [
    {
      regex: `^(\\.\\./)+(src/)?(${forbidden.join('|')})`,
      message: `${folder} may import: ${mayImport.join(', ') || 'nothing but itself'}`,
    },
    ...(isFeature ? [publicFacesOnly(own)] : []),
    ...(PACKAGES[folder] ? [PACKAGES[folder]] : []),
  ];
  return {
    files: [`${folder}/**`],
    rules: { 'no-restricted-imports': ['error', { patterns }] },
  };
}

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'node', 'promise'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  rules: {
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
    'typescript/no-non-null-assertion': 'error',
    'typescript/consistent-type-imports': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'no-console': 'error',
    'no-warning-comments': ['error', { terms: WORDS, location: 'anywhere' }],
    'id-denylist': ['error', ...NAMES],
    eqeqeq: ['error', 'always', { null: 'ignore' }],
    'max-lines-per-function': ['error', { max: 60, skipComments: true, skipBlankLines: true }],
    'no-await-in-loop': 'off',
    'no-restricted-properties': [
      'error',
      {
        object: 'sql',
        property: 'begin',
        message:
          'postgres.js can lose atomicity inside begin: write one statement or an SQL function',
      },
      {
        object: 'sql',
        property: 'reserve',
        message: 'postgres.js can crash the process after reserve: write one statement',
      },
      { object: 'process', property: 'env', message: 'Only src/settings.ts reads the environment' },
    ],
    'import/no-named-as-default-member': 'off',
    'import/no-named-as-default': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'no-underscore-dangle': 'off',
    'promise/always-return': 'off',
    'unicorn/no-array-sort': 'off',
    'promise/no-callback-in-promise': 'off',
    'no-unmodified-loop-condition': 'off',
    'typescript/consistent-return': 'off',
    'typescript/no-misused-spread': 'off',
    'oxc/no-map-spread': 'off',
    'unicorn/prefer-set-has': 'off',
    'typescript/unbound-method': 'off',
    'typescript/no-unsafe-enum-comparison': 'off',
  },
  overrides: [
    ...Object.entries(ARROWS).map(([folder, mayImport]) => arrowsOf(folder, mayImport)),
    {
      files: ['dev/**', 'bench/**'],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                regex: '^(\\.\\./)+test/',
                message: 'Tests may import dev and bench, never the other way',
              },
            ],
          },
        ],
      },
    },
    ...[
      { files: ['dev/gateway-simulator/*.ts'], regex: '^\\.\\./' },
      { files: ['dev/gateway-simulator/*/**'], regex: '^\\.\\./\\.\\./' },
    ].map(({ files, regex }): OxlintOverride => ({
      files,
      rules: {
        'no-restricted-imports': [
          'error',
          { patterns: [{ regex, message: 'The simulator imports only itself' }] },
        ],
      },
    })),
    ...(['temporal', 'temporal-on-postgres'] as const).map(
      (folder, index, both): OxlintOverride => ({
        files: [`dev/${folder}/**`],
        rules: {
          'no-restricted-imports': [
            'error',
            {
              patterns: [
                { regex: `/${both[1 - index]}/`, message: 'Each of the two servers is on its own' },
              ],
            },
          ],
        },
      }),
    ),
    {
      files: ['src/settings.ts', 'sdk/cli/src/main.ts', 'test/**', 'bench/**'],
      rules: { 'no-restricted-properties': 'off' },
    },
    {
      files: ['test/**/*.test.ts'],
      rules: {
        'no-restricted-properties': ['error', ...CLOCKS_OF_THE_MACHINE],
        'no-restricted-globals': ['error', ...TIMERS],
        'no-restricted-imports': [
          'error',
          { paths: [{ name: 'node:timers/promises', message: NO_TIME_IN_TESTS }] },
        ],
      },
    },
    {
      files: ['test/**'],
      plugins: ['typescript', 'unicorn', 'oxc', 'import', 'node', 'promise', 'vitest'],
      rules: { 'vitest/consistent-test-it': ['error', { fn: 'test', withinDescribe: 'test' }] },
    },
    {
      // An example is a program of a merchant.
      files: ['sdk/*/examples/**'],
      rules: { 'no-console': 'off', 'no-restricted-properties': 'off' },
    },
    {
      files: ['test/**', 'bench/**'],
      rules: {
        'max-lines-per-function': 'off',
        'no-console': 'off',
        'typescript/no-non-null-assertion': 'off',
      },
    },
  ],
});
