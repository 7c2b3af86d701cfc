import type { GatewayOptions } from '../../payments/gateway/adapter.ts';
import { GATEWAY_ADAPTERS } from '../../payments/gateway/adapters.ts';
import type { GatewayCheck } from '../../payments/gateway/check-gateway.ts';
import type { OrderGateway } from '../../payments/gateway/gateways.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand, ENVIRONMENT, UsageError } from './command.ts';
import { pilotCommand } from './gateway-pilot.ts';
import { blocks, table } from './text.ts';

const GATEWAYS = GATEWAY_ADAPTERS.map(({ name }) => name);

const checkCommand = defineCommand({
  name: 'gateway check',
  summary:
    'Ask a payment gateway for everything that the service needs of it, without moving money',
  notes: `It lists chargebacks and sessions, opens a payment session of INR 5 and closes it again, and asks for a linked
account. Exit code 1 if something is missing. What else to do before going live: docs/go-live.md.
--pilot moves money: it shows a payment session of INR 5 for you to pay, holds the payment for the linked account,
releases it and refunds it. Each step is printed to standard error as it ends.`,
  options: {
    environment: ENVIRONMENT,
    gateway: { value: GATEWAYS.join('|'), help: 'The gateway', choices: GATEWAYS, required: true },
    'linked-account': { value: 'ID', help: 'Also check this linked account (acc_…)' },
    pilot: { flag: true, help: 'Then follow one payment of INR 5, with --linked-account' },
    answers: {
      value: 'FILE',
      help: 'The new file for the answers of --pilot, without personal data',
      fallback: 'gateway-pilot.json',
    },
  },
  async run(service, { environment, gateway, pilot, answers, 'linked-account': linkedAccountId }) {
    const at = { gateway, environment };
    const open = async (onAnswer?: GatewayOptions['onAnswer']) => {
      const port = (await service.gateways(onAnswer)).find(at);
      if (port) return port;
      throw new UsageError(`The gateway ${gateway} is not configured for ${environment}`);
    };
    if (!pilot) {
      const { checkGateway } = await import('../../payments/gateway/check-gateway.ts');
      return resultOf(at, await checkGateway(await open(), linkedAccountId));
    }
    if (linkedAccountId === undefined) throw new UsageError('--pilot needs --linked-account ID');
    const about = { ...at, linkedAccountId };
    const checks = await pilotCommand({ about, file: answers, say: service.say, open });
    return resultOf(at, checks, answers);
  },
});

/** The checks as a table, with the remedies below it. */
function resultOf(at: OrderGateway, checks: readonly GatewayCheck[], answers?: string) {
  const rows = checks.map(({ what, isOk, found }) => [isOk ? 'ok' : 'FAILED', what, found]);
  const remedies = checks.flatMap(({ what, remedy }) => (remedy ? [`${what}: ${remedy}`] : []));
  const written = answers !== undefined && `The gateway's answers are in ${answers}.`;
  const text = blocks(table(['', 'WHAT', 'FOUND'], rows), remedies.join('\n'), written);
  const failed = checks.some(({ isOk }) => !isOk);
  return { data: { ...at, ok: !failed, checks, answers }, text, failed };
}

/** The commands for payment gateways. */
export const GATEWAY_COMMANDS: readonly AdminCommand[] = [checkCommand];
