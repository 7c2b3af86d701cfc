import { SetupError } from '../src/setup-error.ts';

/** Each benchmark is a file that exports `run`. */
const BENCHMARKS: Record<string, () => Promise<{ run(args: readonly string[]): Promise<void> }>> = {
  comparison: () => import('./comparison.ts'),
  create: () => import('./create.ts'),
  dashboard: () => import('./dashboard.ts'),
  lifecycle: () => import('./lifecycle.ts'),
  listing: () => import('./listing.ts'),
  webhooks: () => import('./webhooks.ts'),
};

const [name = '', ...args] = process.argv.slice(2);
const load = BENCHMARKS[name];
if (!load) {
  console.error(
    `npm run bench -- NAME, where NAME is one of: ${Object.keys(BENCHMARKS).join(', ')}`,
  );
  process.exit(1);
}
try {
  const { run } = await load();
  await run(args);
  process.exit();
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exit(1);
}
