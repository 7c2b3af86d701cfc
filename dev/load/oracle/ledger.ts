import type { Verification } from '../../../src/ledger/verify.ts';
import { runAdmin } from '../../../src/main/admin/run.ts';
import type { GatewayComparison } from '../../../src/payments/reconcile/compare-gateway.ts';
import { violation, type Report, type Violation } from './report.ts';
import type { CheckedService } from './service.ts';

/** What `admin ledger verify --gateway` prints. */
type Verified = Verification & { readonly gateway: GatewayComparison };

const found = (subject: string, fault: string, about: readonly string[] = [], isTotal = false) =>
  violation('ledger', subject, fault, about, isTotal);

/** The service's own proof of the ledger, which also compares it with the gateway and with workflows. */
export async function ledgerReport({ environment }: CheckedService): Promise<Report> {
  const command = ['ledger', 'verify', '--gateway', '--json'];
  const { stdout, stderr, exitCode } = await runAdmin(command, () => environment);
  if (stdout === '') {
    return { counts: {}, violations: [found('ledger', `not verified: ${stderr}`)] };
  }
  const verified = JSON.parse(stdout) as Verified;
  const violations = violationsOf(verified);
  if (exitCode !== 0 && violations.length === 0) {
    violations.push(found('ledger', `exit code ${exitCode}: ${stderr}`));
  }
  return { counts: { 'ledger lines': verified.lineCount }, violations };
}

function violationsOf({ faults, faultCount, gateway }: Verified): Violation[] {
  const notAsked = gateway.notAsked.map(({ reason, ...one }) => ({ ...one, fault: reason }));
  return [
    // The balance of an account differs by the faults of single orders.
    ...faults.map(({ rule, subject, fault }) =>
      found(subject, `${rule}: ${fault}`, [], rule === 'account'),
    ),
    ...[...gateway.faults, ...notAsked].map((one) =>
      found(one.orderNumber, `at the gateway: ${one.fault}`, [
        `${one.gateway}:${one.gatewayPaymentId}`,
      ]),
    ),
    ...(faultCount > faults.length
      ? [found('ledger', `${faultCount} faults, of which ${faults.length} are listed`)]
      : []),
  ];
}
