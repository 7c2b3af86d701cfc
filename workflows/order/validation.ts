import type { Command, DomainError, OrderState } from '../../src/domain/index.ts';
import { decide } from '../../src/domain/index.ts';
import type { QueuedCommand } from './messages.ts';

/**
 * The refusal of a command after the commands that are queued before it. Undefined when it is legal then. A queued
 * payment may turn out not to be captured, so it counts only if the command is legal with it.
 */
export function refusalAfter(
  queued: readonly QueuedCommand[],
  state: OrderState,
  command: Command,
): DomainError | undefined {
  const withoutPayments = queued.filter((one) => one.command.type !== 'pay');
  const refusal = refusalIn(stateAfterAll(withoutPayments, state), command);
  return refusal && refusalIn(stateAfterAll(queued, state), command) && refusal;
}

function refusalIn(state: OrderState, command: Command): DomainError | undefined {
  const decision = decide(state, command, Date.now());
  return decision.outcome === 'refused' ? decision.error : undefined;
}

/**
 * Leaves out commands that the database may still refuse: a settlement, or a command without an id that needs a row.
 */
function stateAfterAll(queued: readonly QueuedCommand[], before: OrderState): OrderState {
  return queued.reduce((state, { command, message }) => {
    const decision = decide(state, command, Date.now());
    if (decision.outcome === 'refused') return state;
    const needsCommand = decision.requires?.includes('command_recorded');
    const needsSettlement = decision.requires?.includes('settlement_recorded');
    const mayBeRefused = needsSettlement || (needsCommand && message.commandId === undefined);
    return mayBeRefused ? state : decision.state;
  }, before);
}
