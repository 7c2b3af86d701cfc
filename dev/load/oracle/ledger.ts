import type { Verification } from '../../../src/ledger/verify.ts';
import { runAdmin } from '../../../src/main/admin/run.ts';
import { TOTALS, violation, type Report, type Violation } from './report.ts';
import type { CheckedService } from './service.ts';

const found = (subject: string, fault: string) => violation('ledger', subject, fault);

/** The service's own proof of the ledger, which also looks for the workflow of each open order. */
export async function ledgerReport({ environment }: CheckedService): Promise<Report> {
  const command = ['ledger', 'verify', '--json'];
  const { stdout, stderr, exitCode } = await runAdmin(command, () => environment);
  if (stdout === '') {
    return { counts: {}, violations: [found('ledger', `not verified: ${stderr}`)] };
  }
  const { faults, faultCount, lineCount } = JSON.parse(stdout) as Verification;
  // The balance of an account differs by the faults of single orders.
  const violations: Violation[] = faults.map(({ rule, subject, fault }) =>
    found(rule === 'account' ? TOTALS : subject, `${rule}: ${subject}: ${fault}`),
  );
  if (faultCount > faults.length) {
    violations.push(found('ledger', `${faultCount} faults, of which ${faults.length} are listed`));
  }
  if (exitCode !== 0 && violations.length === 0) {
    violations.push(found('ledger', `exit code ${exitCode}: ${stderr}`));
  }
  return { counts: { 'ledger lines': lineCount }, violations };
}
