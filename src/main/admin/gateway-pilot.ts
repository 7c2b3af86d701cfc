import { writeFileSync } from 'node:fs';
import type { GatewayOptions } from '../../payments/gateway/adapter.ts';
import type { GatewayCheck } from '../../payments/gateway/check-gateway.ts';
import type { OpenedSession, PaymentGateway } from '../../payments/gateway/gateway.ts';
import type { GatewayRecord } from '../../payments/gateway/gateway-record.ts';
import { UsageError } from './command.ts';
import { quoted } from './text.ts';

/** What a pilot needs of its command. */
export interface PilotCommand {
  about: Pick<GatewayRecord, 'gateway' | 'environment' | 'linkedAccountId'>;
  /** The file of the answers, which does not exist. */
  file: string;
  say: (line: string) => void;
  /** Returns the gateway, whose answers are recorded. */
  open: (onAnswer: GatewayOptions['onAnswer']) => Promise<PaymentGateway>;
}

/**
 * Runs the pilot of a gateway: says each check as it ends, and writes each answer to the file as it
 * comes, without personal data, so that an interrupted pilot has its answers too.
 *
 * @throws UsageError if the file exists already or cannot be created
 */
export async function pilotCommand({ about, file, say, open }: PilotCommand) {
  const { runPilot } = await import('../../payments/gateway/gateway-pilot.ts');
  const { recorded } = await import('../../payments/gateway/gateway-record.ts');
  const record: GatewayRecord = { ...about, checks: [], exchanges: [] };
  const write = () => {
    try {
      writeFileSync(file, textOf(record));
    } catch (error) {
      // A full disk must not end the pilot between the hold and the refund.
      say(`${file} cannot be written: ${(error as Error).message}`);
    }
  };
  const port = await open((exchange) => {
    record.exchanges.push(recorded(exchange));
    write();
  });
  createFile(file, record);
  return runPilot(port, {
    linkedAccountId: about.linkedAccountId,
    onOpened: (session) => say(invitation(session)),
    onCheck(check) {
      record.checks.push(check);
      write();
      say(lineOf(check));
    },
  });
}

const textOf = (record: GatewayRecord) => `${JSON.stringify(record, null, 2)}\n`;

function createFile(file: string, record: GatewayRecord): void {
  try {
    writeFileSync(file, textOf(record), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = code === 'EEXIST' ? 'exists already' : `cannot be created (${code})`;
    throw new UsageError(`${file} ${problem}: name another file with --answers`, { cause: error });
  }
}

const lineOf = ({ what, isOk, found }: GatewayCheck) =>
  (isOk ? 'ok    ' : 'FAILED') + quoted(`${what}: ${found}`);

const invitation = ({ pageUrl, upiIntent }: OpenedSession) =>
  `Pay INR 5 by UPI within 15 minutes:\n${quoted(`${pageUrl}\n${upiIntent}`)}`;
