import { loadConfig } from '../../src/config.ts';
import { byCommand, byTwo } from './operators.ts';
import { marked, readOrder, untilFound, type LoadOrder } from './order.ts';

/** Decides a dispute: with the command line, or with two operators above the amount that needs them. */
export async function decide(order: LoadOrder, winner: 'merchant' | 'buyer'): Promise<void> {
  const { deps, orderNumber, amountPaise } = order;
  const reason = marked(deps, 'reason of a decision', 'The evidence decides it');
  const command = ['dispute', 'decide', '--order', orderNumber, '--for', winner, '--yes'];
  const proposed = { subject: orderNumber, parameters: { winner }, reason };
  const needsTwo = amountPaise > loadConfig(deps.environment).proposalAbovePaise;
  await untilFound(order, 'decision', async () => {
    const decided = needsTwo
      ? byTwo(deps.environment, { kind: 'dispute.decide', ...proposed })
      : byCommand(deps.environment, [...command, '--reason', reason]);
    await decided.catch(() => undefined);
    const now = await readOrder(order);
    return now?.status !== 'DISPUTE_UNDER_REVIEW' || now.refund !== null ? true : undefined;
  });
}
