import type { SendResult } from './send-result.ts';

/** An endpoint is quick if its latest webhook was accepted within this time. */
export const QUICK_MS = 300;
const MAX_REMEMBERED = 10_000;

/** The URLs that lately answered quickly, as far as this process has sent to them. */
export function createQuickEndpoints() {
  const urls = new Set<string>();
  return {
    note(url: string, { outcome, durationMs }: SendResult): void {
      if (outcome !== 'delivered' || durationMs > QUICK_MS) {
        urls.delete(url);
        return;
      }
      if (urls.size >= MAX_REMEMBERED) urls.clear();
      urls.add(url);
    },
    has: (url: string): boolean => urls.has(url),
  };
}
