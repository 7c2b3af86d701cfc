import type { RetriedCall } from '../../payments/gateway-calls.ts';
import { defineCommand, ORDER } from './command.ts';
import type { AdminService } from './service.ts';
import { quoted, timeText } from './text.ts';

/** What asks Temporal about an order; loaded only for the commands that do. */
export async function inspectorDeps({ sql, temporal }: AdminService) {
  const { createWorkflowInspector } = await import('../../temporal/pending-activities.ts');
  return { sql, inspector: createWorkflowInspector(await temporal()) };
}

export const retryCommand = defineCommand({
  name: 'order retry',
  summary: 'Try a stuck call to the gateway now, instead of at its next try',
  notes: `A release, a refund, the closing of a payment session, or the refund of a payment that the order could not
take. Refused when none of them waits. Exit 1 when the gateway fails or refuses again; it is tried on.`,
  options: {
    order: ORDER,
    reason: { value: 'TEXT', help: 'Why, for the audit log', required: true },
  },
  async run(service, { order: orderNumber, reason }) {
    const { retryGatewayCalls } = await import('../../payments/gateway-calls.ts');
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
      return `${subject}: under way; order show tells what came of it.`;
    case 'failed': {
      const next = result.nextTryAt ? `, next try ${timeText(result.nextTryAt)}` : '';
      return `${subject}: failed again${next}.\n${quoted(result.error ?? 'No reason was given')}`;
    }
  }
}
