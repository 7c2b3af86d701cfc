import type { RetriedCall } from '../../payments/gateway/gateway-calls.ts';
import { defineCommand, ORDER } from './command.ts';
import type { AdminService } from './service.ts';
import { quoted, timeText } from './text.ts';

/** The dependencies for inspecting an order's workflows, loaded on demand. */
export async function inspectorDeps({ sql, temporal }: AdminService) {
  const { createWorkflowInspector } = await import('../../temporal/pending-activities.ts');
  return { sql, inspector: createWorkflowInspector(await temporal()) };
}

/** `order retry` */
export const retryCommand = defineCommand({
  name: 'order retry',
  summary: 'Retry a failing gateway call now, instead of at its next scheduled retry',
  notes: `The call is a release, a refund, a surplus refund, or the closing of a payment session. Refused if no call is
waiting for a retry. Exit 1 if the gateway fails or refuses again; the scheduled retries continue.`,
  options: {
    order: ORDER,
    reason: { value: 'TEXT', help: 'Why, for the audit log', required: true },
  },
  async run(service, { order: orderNumber, reason }) {
    const { retryGatewayCalls } = await import('../../payments/gateway/gateway-calls.ts');
    const deps = { ...(await inspectorDeps(service)), actor: service.actor };
    const calls = await retryGatewayCalls(deps, orderNumber, reason);
    const data = { orderNumber, calls };
    const failed = calls.some(({ result }) => result.outcome === 'failed');
    return { data, text: calls.map(resultText).join('\n'), failed };
  },
});

function resultText({ what, result }: RetriedCall): string {
  const subject = `The ${what}`;
  switch (result.outcome) {
    case 'done':
      return `${subject}: done.`;
    case 'started':
      return `${subject}: in progress; order show reports its result.`;
    case 'failed': {
      const next = result.nextTryAt ? `, next try ${timeText(result.nextTryAt)}` : '';
      return `${subject}: failed again${next}.\n${quoted(result.error ?? 'No reason was given')}`;
    }
  }
}
