import type { Config } from '../../config.ts';
import {
  checkWebhookUrlAtSave,
  DEFAULT_DENIED_PORTS,
} from '../../webhooks/sending/address-guard.ts';
import type { CheckUrl } from '../../webhooks/endpoints/endpoints.ts';
import { createDnsLookup } from '../../webhooks/sending/resolve-host.ts';

function portOf(address: string | undefined, fallback: number): number {
  if (address === undefined) return fallback;
  const { port } = new URL(address.includes('://') ? address : `tcp://${address}`);
  return port === '' ? fallback : Number(port);
}

/** The addresses that webhooks may reach: the guard's rules, without the service's own ports. */
export function webhookRules(config: Config): { allowedCidrs: string[]; deniedPorts: number[] } {
  const ownPorts = [
    config.port,
    portOf(config.temporalAddress, 7233),
    portOf(config.databaseUrl, 5432),
  ];
  return {
    allowedCidrs: config.webhookAllowedCidrs,
    deniedPorts: [...DEFAULT_DENIED_PORTS, ...ownPorts, ...config.webhookDeniedPorts],
  };
}

/** Creates the check of a webhook URL before it is saved. */
export function createUrlCheck(config: Config): CheckUrl {
  const lookup = createDnsLookup();
  const rules = { ...webhookRules(config), lookup };
  return (url, environment) => checkWebhookUrlAtSave(url, { ...rules, environment });
}
