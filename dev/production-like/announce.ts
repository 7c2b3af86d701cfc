import { logins, table } from '../start/announce.ts';
import type { ProductionLike } from './start.ts';

/** The text that `npm run start:production-like` prints when the service is ready. */
export function productionLikeText(shape: ProductionLike, startupMs: number): string {
  const { facts } = shape;
  const { apiKey, apiSecret } = facts.demoMerchant.sandbox;
  return `
Ready after ${(startupMs / 1000).toFixed(1)} s. A process that ends is started again. Ctrl-C stops everything.

${table([
  ['API', `${shape.apiBaseUrl} (balancer)`],
  ...shape.apiUrls.map((url) => ['', url]),
  ...Object.entries(shape.metricsUrls).map(([name, url]) => [`Metrics of ${name}`, url]),
  ['UPI gateway', `${shape.gatewayUrl} (simulated)`],
  ['Mails', shape.mailboxUrl],
  ['Temporal', shape.temporalAddress],
  ...shape.members.map(({ name, pid, logFile }) => [`${name} (${pid ?? 'ended'})`, logFile]),
])}

Log in at ${facts.apiBaseUrl}/dashboard/login

${table(logins(facts))}

X-API-Key: ${apiKey}    X-API-Secret: ${apiSecret}    (sandbox)
`;
}
