import type { LedgerActivities } from '../src/contracts/activities.ts';
import type { AlertDeps } from '../src/alerts/alerts.ts';
import type { Sql } from '../src/db/client.ts';
import { proveLedger } from '../src/ledger/proofs.ts';

/** What the proof of the ledger needs. */
export interface LedgerDeps extends AlertDeps {
  /** A pool whose statements may take minutes, because the proof reads every order. */
  ledgerSql: Sql;
}

/** The activity that verifies the ledger. */
export function createLedgerActivities({ ledgerSql, log }: LedgerDeps): LedgerActivities {
  return {
    async verifyLedger() {
      const { ok, faultCount } = await proveLedger({ sql: ledgerSql, log });
      return { ok, faultCount };
    },
  };
}
