import { TEST_ACTOR } from './actor.ts';
import type { TestService } from './service.ts';

/** What the dashboard and the command line give to the operators' commands on orders. */
export function operatorOf({ deps }: TestService, actor = TEST_ACTOR) {
  return { ...deps, actor };
}
