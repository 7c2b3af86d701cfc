import { writeFileSync } from 'node:fs';
import type { GatewayOptions } from '../../payments/gateway/adapter.ts';
import { GATEWAY_ADAPTERS } from '../../payments/gateway/adapters.ts';
import type { GatewayCheck } from '../../payments/gateway/check-gateway.ts';
import { checkGateway } from '../../payments/gateway/check-gateway.ts';
import { runPilot } from '../../payments/gateway/gateway-pilot.ts';
import type { GatewayRecord } from '../../payments/gateway/gateway-record.ts';
import { recorded } from '../../payments/gateway/gateway-record.ts';
import type { PaymentGateway } from '../../payments/gateway/gateway.ts';
import type { GatewayRef } from '../../payments/gateway/gateways.ts';
import { SetupError } from '../../setup-error.ts';
import { flagOption, UsageError } from '../process/command-line.ts';
import { defineCommand, ENVIRONMENT } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, quoted, table } from './text.ts';

const GATEWAYS = GATEWAY_ADAPTERS.map(({ name }) => name);

export const GATEWAY_COMMANDS = {
  'gateway check': defineCommand({
    summary: 'Ask a gateway for all that the service needs of it',
    notes: `It lists chargebacks and sessions, opens a payment session of INR 5 and closes it again, and asks for a linked
account. Exit code 1 if something is missing. What else to do before going live: docs/go-live.md.
--pilot moves money: it shows a payment session of INR 5 for you to pay, holds the payment for the linked account,
releases it and refunds it. Each step is printed to standard error as it ends.`,
    options: {
      environment: ENVIRONMENT,
      gateway: { help: 'The gateway', choices: GATEWAYS, required: true },
      'linked-account': { value: 'ID', help: 'Also check this linked account (acc_…)' },
      pilot: flagOption('Then follow one payment of INR 5, with --linked-account'),
      answers: {
        value: 'FILE',
        help: 'The new file for the answers of --pilot, without personal data',
        fallback: 'gateway-pilot.json',
      },
    },
    async run(service, { pilot, answers, 'linked-account': linkedAccountId, ...of }) {
      const at = { gateway: of.gateway, environment: of.environment };
      if (!pilot) return resultOf(at, await checkGateway(await open(service, at), linkedAccountId));
      if (linkedAccountId === undefined) throw new UsageError('--pilot needs --linked-account ID');
      return resultOf(at, await recordPilot(service, { ...at, linkedAccountId }, answers), answers);
    },
  }),
};

/** @param onAnswer receives each request with its answer. @throws SetupError if it is not configured */
async function open(
  service: AdminService,
  { gateway, environment }: GatewayRef,
  onAnswer?: GatewayOptions['onAnswer'],
): Promise<PaymentGateway> {
  const port = (await service.gateways(onAnswer)).find({ gateway, environment });
  if (port) return port;
  throw new SetupError(`The gateway ${gateway} is not configured for ${environment}`);
}

/** The checks as a table, with the remedies below it. */
function resultOf(at: GatewayRef, checks: readonly GatewayCheck[], answers?: string) {
  const list = table(
    checks.map(({ what, isOk, found }) => ({ result: isOk ? 'ok' : 'FAILED', what, found })),
  );
  const remedies = checks.flatMap(({ what, remedy }) => (remedy ? [`${what}: ${remedy}`] : []));
  const written = answers !== undefined && `The gateway's answers are in ${answers}.`;
  const text = blocks(list, remedies.join('\n'), written);
  const failed = checks.some(({ isOk }) => !isOk);
  return { data: { ...at, ok: !failed, checks, answers }, text, failed };
}

/**
 * Runs the pilot of a gateway: says each check as it ends, and writes each answer to the file as it
 * comes, without personal data, so that an interrupted pilot has its answers too.
 *
 * @throws SetupError if the file exists already or cannot be created
 */
async function recordPilot(
  service: AdminService,
  about: Omit<GatewayRecord, 'checks' | 'exchanges'>,
  file: string,
) {
  const { say } = service;
  const record: GatewayRecord = { ...about, checks: [], exchanges: [] };
  const write = (flag: 'w' | 'wx') =>
    writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`, { flag, mode: 0o600 });
  const writeAgain = () => {
    try {
      write('w');
    } catch (error) {
      // A full disk must not end the pilot between the hold and the refund.
      say(`${file} cannot be written: ${(error as Error).message}`);
    }
  };
  const port = await open(service, about, (exchange) => {
    record.exchanges.push(recorded(exchange));
    writeAgain();
  });
  try {
    write('wx');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = code === 'EEXIST' ? 'exists already' : `cannot be created (${code})`;
    throw new SetupError(`${file} ${problem}: name another file with --answers`, { cause: error });
  }
  return runPilot(port, {
    linkedAccountId: about.linkedAccountId,
    onOpened: ({ pageUrl, upiIntent }) =>
      say(`Pay INR 5 by UPI within 15 minutes:\n${quoted(`${pageUrl}\n${upiIntent}`)}`),
    onCheck(check) {
      record.checks.push(check);
      writeAgain();
      const { what, isOk, found } = check;
      say((isOk ? 'ok    ' : 'FAILED') + quoted(`${what}: ${found}`));
    },
  });
}
