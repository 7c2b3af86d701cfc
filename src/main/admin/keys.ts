import { pepperIdsOf } from '../../merchants/credentials.ts';
import type { KeyReport, KeyUsage } from '../../privacy/key-usage.ts';
import { reportKeys } from '../../privacy/key-usage.ts';
import { resealAll } from '../../privacy/reseal.ts';
import type { AdminCommand, CommandResult } from './command.ts';
import { defineCommand } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, table } from './text.ts';

/** The report of all keys, and the boxes of the configured ones. */
async function keysOf({ sql, secretBox, dataBox, pepper }: AdminService) {
  const boxes = { WEBHOOK_SECRET_KEYS: secretBox(), DATA_ENCRYPTION_KEYS: dataBox() };
  const report = await reportKeys(sql, {
    WEBHOOK_SECRET_KEYS: boxes.WEBHOOK_SECRET_KEYS.keyIds,
    DATA_ENCRYPTION_KEYS: boxes.DATA_ENCRYPTION_KEYS.keyIds,
    API_SECRET_PEPPER: pepperIdsOf(pepper()),
  });
  return { boxes, report };
}

const STATES = {
  newest: () => 'newest',
  older: (rows: number) => (rows === 0 ? 'can be removed' : 'still needed'),
  missing: () => 'MISSING: configure it, or its rows cannot be read',
} as const satisfies Record<KeyUsage['role'], (rows: number) => string>;

function reportText({ keys, unusedApiKeys }: KeyReport): string {
  return blocks(
    table(
      keys.map(({ setting, keyId, rows, role, of }) => ({
        setting,
        keyId,
        rows,
        state: STATES[role](rows),
        of: Object.entries(of)
          .map(([name, count]) => `${count} ${name}`)
          .join(', '),
      })),
    ),
    unusedApiKeys.length > 0 && 'API keys whose secret was not used since the pepper was replaced:',
    table(unusedApiKeys),
  );
}

const isMissing = ({ role }: KeyUsage) => role === 'missing';

const listCommand = defineCommand({
  name: 'keys list',
  summary: 'Count what depends on each encryption key and pepper of the settings',
  notes: `The keys of WEBHOOK_SECRET_KEYS, DATA_ENCRYPTION_KEYS and API_SECRET_PEPPER. An older key may be removed once nothing depends on it. API_SECRET_PEPPER shows ids that are made from the
peppers. Exit 1 if rows need a key that no setting has.`,
  options: {},
  async run(service) {
    const { report } = await keysOf(service);
    return { data: report, text: reportText(report), failed: report.keys.some(isMissing) };
  },
});

const resealCommand = defineCommand({
  name: 'keys reseal',
  summary: 'Encrypt again, with the newest key, what an older one has encrypted',
  notes: `Of webhook secrets, two-factor secrets, bank account numbers, documents and mails. First put the new key in
front of the old ones, for every process of the service: docs/runbook/key-rotation.md. It can be interrupted and run
again. Exit 1 if a value cannot be decrypted. API secrets are not encrypted: each moves to the newest pepper when it
is used.`,
  options: {},
  async run(service): Promise<CommandResult> {
    const { sql, actor } = service;
    const { boxes } = await keysOf(service);
    const { resealed, unreadable } = await resealAll({ sql, actor, boxes });
    const { report } = await keysOf(service);
    const text = blocks(
      facts({ resealed, unreadable: unreadable.length }),
      table(unreadable),
      reportText(report),
    );
    return { data: { resealed, unreadable, ...report }, text, failed: unreadable.length > 0 };
  },
});

/** The commands for the keys of the service. */
export const KEYS_COMMANDS: readonly AdminCommand[] = [listCommand, resealCommand];
