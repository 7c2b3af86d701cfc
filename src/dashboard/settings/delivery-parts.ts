import type { Environment } from '../../domain/index.ts';
import { tabs } from '../view/filters.ts';
import { capitalised } from '../view/parts.ts';
import { pathOf } from './deps.ts';

/** What came of an attempt: "200", or why it failed: "Answered 503". */
export function resultText({
  statusCode,
  error,
}: {
  statusCode: number | null;
  error: string | null;
}): string {
  return capitalised(error ?? String(statusCode ?? ''));
}

/** The two pages about webhooks: what was sent, and where to. */
export function webhookTabs(environment: Environment, current: '/deliveries' | '/webhooks') {
  const pathIn = (below: string) => pathOf(environment, below);
  const pages = { [pathIn('/deliveries')]: 'Sent webhooks', [pathIn('/webhooks')]: 'Endpoint' };
  return tabs('Webhooks', pages, pathIn(current));
}
