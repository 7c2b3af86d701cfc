import { activityInfo, heartbeat } from '@temporalio/activity';
import type { CompareGatewayActivities, LedgerActivities } from '../src/contracts/activities.ts';
import type { PaymentRef } from '../src/contracts/ids.ts';
import type { Sql } from '../src/db/client.ts';
import { proveLedger } from '../src/ledger/proofs.ts';
import { alertOnDifferences } from '../src/payments/reconcile/compare-gateway.ts';
import type { CaptureDeps } from '../src/payments/captures/captures.ts';

export interface LedgerDeps extends CaptureDeps {
  /** A pool whose statements may take minutes, because the proof reads every order. */
  ledgerSql: Sql;
}

/** The activities that verify the ledger, and compare it with the gateway. */
export function createLedgerActivities(
  deps: LedgerDeps,
): LedgerActivities & CompareGatewayActivities {
  const { ledgerSql, log } = deps;
  return {
    async compareWithGateway() {
      // The last heartbeat of the previous attempt contains its progress.
      const from = activityInfo().heartbeatDetails as PaymentRef | undefined;
      const onPage = async ({ gateway, gatewayPaymentId }: PaymentRef) =>
        heartbeat({ gateway, gatewayPaymentId });
      return alertOnDifferences(deps, { from, onPage });
    },

    async verifyLedger() {
      const { ok, faultCount } = await proveLedger({ sql: ledgerSql, log });
      return { ok, faultCount };
    },
  };
}
