import { GATEWAY_ADAPTERS } from '../../payments/adapters.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand, ENVIRONMENT, UsageError } from './command.ts';
import { blocks, table } from './text.ts';

const GATEWAYS = GATEWAY_ADAPTERS.map(({ name }) => name);

const checkCommand = defineCommand({
  name: 'gateway check',
  summary:
    'Ask a payment gateway for everything that the service needs of it, without moving money',
  notes: `It lists chargebacks and sessions, opens a payment session of INR 5 and closes it again, and asks for a linked
account. Exit code 1 if something is missing. What else to do before going live: docs/go-live.md.`,
  options: {
    environment: ENVIRONMENT,
    gateway: { value: GATEWAYS.join('|'), help: 'The gateway', choices: GATEWAYS, required: true },
    'linked-account': { value: 'ID', help: 'Also check this linked account (acc_…)' },
  },
  async run(service, { environment, gateway, 'linked-account': linkedAccountId }) {
    const { checkGateway } = await import('../../payments/check-gateway.ts');
    const port = (await service.gateways()).find({ gateway, environment });
    if (port === null) {
      throw new UsageError(`The gateway ${gateway} is not configured for ${environment}`);
    }
    const checks = await checkGateway(port, linkedAccountId);
    const rows = checks.map(({ what, isOk, found }) => [isOk ? 'ok' : 'FAILED', what, found]);
    const remedies = checks.flatMap(({ what, remedy }) => (remedy ? [`${what}: ${remedy}`] : []));
    const text = blocks(table(['', 'WHAT', 'FOUND'], rows), remedies.join('\n'));
    const failed = checks.some(({ isOk }) => !isOk);
    return { data: { environment, gateway, ok: !failed, checks }, text, failed };
  },
});

/** The commands for payment gateways. */
export const GATEWAY_COMMANDS: readonly AdminCommand[] = [checkCommand];
