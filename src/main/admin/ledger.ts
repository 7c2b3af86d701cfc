import { proveLedger } from '../../ledger/proofs.ts';
import type { LedgerFault } from '../../ledger/queries.ts';
import type { Verification } from '../../ledger/verify.ts';
import type { Difference } from '../../orders/wake/compare-orders.ts';
import { listDifferences } from '../../orders/wake/compare-orders.ts';
import type { GatewayComparison } from '../../payments/reconcile/compare-gateway.ts';
import { compareWithGateway } from '../../payments/reconcile/compare-gateway.ts';
import { flagOption } from '../process/command-line.ts';
import { defineCommand } from './command.ts';
import type { AdminService } from './service.ts';
import { temporalLineOf } from './service.ts';
import { blocks, facts, table } from './text.ts';

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The accounts of each environment that are not empty, followed by their sum. */
function accountsOf({ accounts, sums }: Verification) {
  const used = accounts.filter((one) => one.balancePaise !== 0 || one.expectedPaise !== 0);
  return sums.flatMap(({ environment, sumPaise }) => [
    ...used.filter((one) => one.environment === environment),
    { environment, account: 'sum', balancePaise: sumPaise, expectedPaise: 0 },
  ]);
}

/** The figures of the comparison with the gateway, and its verdict. */
function comparisonTexts({ faults, notAsked, ...counts }: GatewayComparison) {
  const { faultCount } = counts;
  const verdict =
    faultCount === 0
      ? 'The gateway agrees on every compared payment.'
      : `The gateway differs: ${counted(faultCount, 'figure')}.`;
  return { figures: blocks(facts({ gateway: counts }), table(faults), table(notAsked)), verdict };
}

export const LEDGER_COMMANDS = {
  'ledger verify': defineCommand({
    summary: 'Verify that the ledger adds up and each open order has a workflow',
    notes: `Exit 1 if not. It sums every account, compares the ledger with every order, captured payment and surplus refund
in one snapshot, and records the result as a proof; a fault raises the alert ledger_fault. Then it checks that each
order that is not final has a running workflow. It changes no order and no line. With --gateway it also compares what
was captured, refunded, released and held with the gateway's own figures, with two calls for each payment of an order
that is open or ended within a week. Of an order that is settled outside, it checks that the gateway has not moved the
money as well.`,
    options: { gateway: flagOption("Also compare with the gateway's own figures") },
    async run(service, { gateway }) {
      const ledger = await proveLedger(service);
      const { openOrderCount, notCompared, faults: missing, failed } = await askTemporal(service);
      const verification = {
        ...ledger,
        ok: ledger.ok && missing.length === 0,
        faultCount: ledger.faultCount + missing.length,
        // If Temporal has lost its data, every order has a fault.
        faults: [...ledger.faults, ...missing.slice(0, MAX_NAMED)],
      };
      const { ok, faultCount, ...figures } = verification;
      const compared = gateway
        ? await compareWithGateway({ sql: service.sql, gateways: await service.gateways() })
        : undefined;
      const comparison = compared && comparisonTexts(compared);
      const withTemporal = { 'Open orders compared with Temporal': openOrderCount };
      const text = blocks(
        table(accountsOf(verification)),
        facts({ ...figures, ...(notCompared === null && withTemporal) }),
        comparison?.figures,
        table(verification.faults),
        notCompared,
        ok
          ? 'The ledger is sound: it sums to zero, and agrees with every order and payment.'
          : `The ledger is not sound: ${counted(faultCount, 'fault')}.`,
        comparison?.verdict,
      );
      const data = {
        ...verification,
        workflows: { openOrderCount, notCompared },
        gateway: compared,
      };
      const differs = compared !== undefined && compared.faultCount + compared.notAskedCount > 0;
      return { data, text, failed: !ok || failed || differs };
    },
  }),
};

/** The maximum number of orders without a workflow that are listed. */
const MAX_NAMED = 100;

/** The timeout of the check whether Temporal is reachable; listing may take longer. */
const ANSWER_TIMEOUT_MS = 5000;

/**
 * Finds open orders without a running workflow, as faults.
 *
 * @returns `notCompared` why the orders were not compared, in one line; `failed` if that is because the
 *   configured Temporal is unreachable
 */
async function askTemporal(service: AdminService) {
  const { config, sql, log } = service;
  const without = (line: string) => ({
    openOrderCount: 0,
    faults: [],
    notCompared: `Open orders are not compared with Temporal. ${line}`,
    failed: config.temporalAddress !== undefined,
  });
  if (config.temporalAddress === undefined) return without('TEMPORAL_ADDRESS is not set.');
  const client = await service.temporal();
  const workflows = await service.workflows();
  try {
    await client.withDeadline(Date.now() + ANSWER_TIMEOUT_MS, () =>
      client.workflowService.getSystemInfo({}),
    );
    const { compared, differences } = await listDifferences({ sql, log, workflows });
    const faults = differences.flatMap(faultsOf);
    return { openOrderCount: compared, faults, notCompared: null, failed: false };
  } catch (error) {
    const line = temporalLineOf(error);
    if (line === undefined) throw error;
    return without(line);
  }
}

/** Another status is no fault: the workflow may be recording a step at this moment. */
function faultsOf(difference: Difference): LedgerFault[] {
  const { orderNumber: subject, kind } = difference;
  if (kind !== 'missing' && kind !== 'closed') return [];
  const why = kind === 'closed' ? 'its workflow has ended' : 'it has no workflow';
  const fault = `${difference.status}, but ${why}: run admin order recover`;
  return [{ rule: 'workflow', subject, fault }];
}
