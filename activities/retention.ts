import { heartbeat } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { RetentionActivities } from '../src/contracts/activities.ts';
import type { Sql } from '../src/db/client.ts';
import { deleteExpiredData } from '../src/privacy/retention.ts';

export interface RetentionActivityDeps {
  sql: Sql;
  log: Logger;
}

export function createRetentionActivities(deps: RetentionActivityDeps): RetentionActivities {
  return {
    async deleteExpiredData() {
      const deleted = await deleteExpiredData(deps, heartbeat);
      const rows = Object.values(deleted).reduce((sum, count) => sum + count, 0);
      if (rows > 0) deps.log.info({ deleted }, 'Data that has passed its time was deleted');
      return deleted;
    },
  };
}
