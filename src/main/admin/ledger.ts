import type { Verification } from '../../ledger/verify.ts';
import { proveLedger } from '../../ledger/proofs.ts';
import { showLedger } from '../../ledger/verify.ts';
import type { GatewayComparison } from '../../payments/reconcile/compare-gateway.ts';
import { paymentSubject } from '../../payments/gateway/gateways.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand, ORDER } from './command.ts';
import type { WorkflowComparison } from './ledger-workflows.ts';
import { compareWithTemporal } from './ledger-workflows.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, rupees, table } from './text.ts';

function verdictOf({ ok, faultCount }: Verification): string {
  if (ok) return 'The ledger is sound: it sums to zero, and agrees with every order and payment.';
  return `The ledger is not sound: ${faultCount} ${faultCount === 1 ? 'fault' : 'faults'}.`;
}

/** The accounts of each environment, followed by their sum. */
function accountRows({ accounts, sums }: Verification) {
  return sums.flatMap(({ environment, sumPaise }) => [
    ...accounts
      .filter((one) => one.environment === environment)
      .map(({ account, balancePaise, expectedPaise }) => [
        environment,
        account,
        balancePaise,
        expectedPaise,
        rupees(balancePaise),
      ]),
    [environment, 'sum', sumPaise, 0, rupees(sumPaise)],
  ]);
}

function figuresOf(
  verification: Verification,
  { comparedCount, notCompared }: WorkflowComparison,
): string {
  return blocks(
    table(['ENVIRONMENT', 'ACCOUNT', 'PAISE', 'EXPECTED', 'RUPEES'], accountRows(verification)),
    facts({
      'Ledger lines': verification.lineCount,
      Orders: verification.orderCount,
      Captures: verification.captureCount,
      'Captures not applied yet': verification.capturesUnderWay,
      'Captures not usable for an order': verification.unfitCaptureCount,
      'Surplus captures': verification.surplusCount,
      'Reversed at the gateway': verification.reversalCount,
      'Settled outside the gateway': verification.outsideSettlementCount,
      'Open orders compared with Temporal': notCompared === null ? comparedCount : undefined,
    }),
  );
}

function withFaults(
  verification: Verification,
  { faultCount, faults }: WorkflowComparison,
): Verification {
  return {
    ...verification,
    ok: verification.ok && faultCount === 0,
    faultCount: verification.faultCount + faultCount,
    faults: [...verification.faults, ...faults],
  };
}

async function askGateway(service: AdminService): Promise<GatewayComparison> {
  const { compareWithGateway } = await import('../../payments/reconcile/compare-gateway.ts');
  return compareWithGateway({ sql: service.sql, gateways: await service.gateways() });
}

function comparisonText(compared: GatewayComparison): string {
  const { faults, notAsked } = compared;
  const faultRows = faults.map((one) => [paymentSubject(one), one.orderNumber, one.fault]);
  const notAskedRows = notAsked.map((one) => [paymentSubject(one), one.orderNumber, one.reason]);
  return blocks(
    facts({
      'Compared with the gateway': compared.comparedCount,
      'Not compared, operation pending': compared.movingCount,
      'Could not be compared': compared.notAskedCount,
    }),
    faultRows.length > 0 && table(['PAYMENT', 'ORDER', 'DIFFERENCE'], faultRows),
    notAskedRows.length > 0 && table(['PAYMENT', 'ORDER', 'NOT COMPARED, BECAUSE'], notAskedRows),
    compared.faultCount === 0
      ? 'The gateway agrees on every compared payment.'
      : `The gateway differs: ${compared.faultCount} ${compared.faultCount === 1 ? 'figure' : 'figures'}.`,
  );
}

const verifyCommand = defineCommand({
  name: 'ledger verify',
  summary:
    'Verify that the ledger balances and each open order has a running workflow; exit 1 if not',
  notes: `Sums every account, and compares the ledger with every order, captured payment and surplus refund, in one
snapshot, and records the result as a proof; a fault raises the alert ledger_fault. Then it checks that each order
that is not final has a running workflow. It changes no order and no line. With --gateway
it also compares what was captured, refunded, released and held with the gateway's own figures, with two calls for
each payment of an order that is open or ended within a week. Of an order that is settled outside, it checks that the
gateway has not moved the money as well.`,
  options: {
    gateway: { flag: true, help: "Also compare with the gateway's own figures" },
  },
  async run(service, { gateway }) {
    const ledger = await proveLedger(service);
    const workflows = await compareWithTemporal(service);
    const verification = withFaults(ledger, workflows);
    const faults = verification.faults.map(({ rule, subject, fault }) => [rule, subject, fault]);
    const list = faults.length > 0 && table(['RULE', 'SUBJECT', 'FAULT'], faults);
    const text = blocks(
      figuresOf(verification, workflows),
      list,
      workflows.notCompared,
      verdictOf(verification),
    );
    const { comparedCount: openOrderCount, notCompared } = workflows;
    const data = { ...verification, workflows: { openOrderCount, notCompared } };
    const failed = !verification.ok || workflows.failed;
    if (!gateway) return { data, text, failed };
    const compared = await askGateway(service);
    const isSame = compared.faultCount === 0 && compared.notAskedCount === 0;
    return {
      data: { ...data, gateway: compared },
      text: blocks(text, comparisonText(compared)),
      failed: failed || !isSame,
    };
  },
});

const showCommand = defineCommand({
  name: 'ledger show',
  summary: "Show an order's lines in the ledger",
  options: { order: ORDER },
  async run({ sql }, { order }) {
    const data = await showLedger(sql, order);
    const head = facts({
      Order: data.orderNumber,
      Merchant: data.merchantId,
      Environment: data.environment,
      Status: data.status,
      Amount: `INR ${rupees(data.amountPaise)}`,
      Payment: data.gatewayPaymentId,
      'Settled outside the gateway': data.outsideReference ?? undefined,
    });
    const lines = data.lines.map((line) => [
      line.at,
      line.operation,
      line.from,
      line.to,
      rupees(line.amountPaise),
      line.gatewayPaymentId,
    ]);
    const balances = data.balances.map((one) => [one.account, rupees(one.balancePaise)]);
    const text = blocks(
      head,
      table(['AT', 'OPERATION', 'FROM', 'TO', 'INR', 'PAYMENT'], lines),
      balances.length > 0 && table(['ACCOUNT', 'INR'], balances),
    );
    return { data, text };
  },
});

/** The ledger: verify it, and show an order's lines. */
export const LEDGER_COMMANDS: readonly AdminCommand[] = [verifyCommand, showCommand];
