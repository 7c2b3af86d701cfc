import { listAudit } from '../../merchants/audit-log.ts';
import type { AdminCommand } from './command.ts';
import { ANY_MERCHANT, defineCommand, LIMIT, limitOf, timeOf } from './command.ts';
import { blocks, moreHint, table } from './text.ts';

const listCommand = defineCommand({
  name: 'audit list',
  summary: 'List who did what, why and when, the latest first',
  notes: `--order finds actions on the order, on its webhook deliveries and on its surplus payments. --json shows
all details of each row, and whether there are more.`,
  options: {
    order: { value: 'N', help: 'Only of this order' },
    merchant: ANY_MERCHANT,
    actor: { value: 'NAME', help: 'Only by this actor, such as cli:asha' },
    action: { value: 'NAME', help: 'Only this action, such as dispute.decide' },
    since: { value: 'ISO', help: 'Only since this time, such as 2026-11-20T08:00:00Z' },
    limit: LIMIT,
  },
  async run({ sql }, { order, merchant, actor, action, since, limit }) {
    const filter = {
      orderNumber: order,
      merchantId: merchant,
      actor,
      action,
      since: since === undefined ? undefined : timeOf('since', since),
    };
    const data = await listAudit(sql, filter, limitOf(limit));
    const rows = data.entries.map((entry) => [
      entry.at,
      entry.actor,
      entry.action,
      entry.merchantId,
      entry.subject,
      entry.reason,
    ]);
    const titles = ['AT', 'WHO', 'WHAT', 'MERCHANT', 'OF', 'WHY'];
    return { data, text: blocks(table(titles, rows), moreHint(data.hasMore)) };
  },
});

/** The commands for the audit log. */
export const AUDIT_COMMANDS: readonly AdminCommand[] = [listCommand];
