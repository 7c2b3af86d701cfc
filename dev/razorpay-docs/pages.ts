import { execFileSync } from 'node:child_process';

/** The pages about what the adapter calls and receives, and about what is close to it. */
const PAGES = [
  /^api\/(qr-codes|refunds|disputes|payments\/route)[/.]/,
  /^api\/payments(\/[^/]+)?\.md$/,
  /^payments\/(qr-codes|refunds|disputes|route)[/.]/,
  /^webhooks\/(payments|refunds|disputes|route|qr-codes|all)\.md$/,
];

/** A page of the documents: its path in the repository, and its text. */
export interface Page {
  path: string;
  text: string;
}

/**
 * The pages of a checkout or a bare repository of `razorpay/markdown-docs`, at its current commit.
 *
 * @throws Error if it is no such repository
 */
export function readPages(repository: string): Page[] {
  const git = (...args: string[]) => {
    const output = { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: 'pipe' } as const;
    return execFileSync('git', ['-C', repository, ...args], output);
  };
  const paths = git('ls-tree', '-r', '--name-only', '--full-tree', 'HEAD').split('\n');
  const pages = paths
    .filter((path) => path.endsWith('.md') && PAGES.some((pattern) => pattern.test(path)))
    .map((path) => ({ path, text: git('show', `HEAD:${path}`) }));
  if (pages.length === 0) throw new Error(`${repository} has no pages of Razorpay's API`);
  return pages;
}
