import { createOrderCommands } from '../../src/orders/commands/commands.ts';
import { createOrderPresenter } from '../../src/orders/presenter.ts';
import { TEST_ACTOR } from './actor.ts';
import type { TestService } from './service.ts';

/** What the dashboard and the command line give to the operators' commands on orders. */
export function operatorOf({ deps, config }: TestService, actor = TEST_ACTOR) {
  const present = createOrderPresenter(config.publicBaseUrl);
  const commands = createOrderCommands({ ...deps, durations: config.durations, present });
  return { sql: deps.sql, commands, actor };
}
