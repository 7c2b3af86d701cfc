import type { AlertDeps } from '../../alerts/alerts.ts';
import { raiseAlert } from '../../alerts/alerts.ts';
import { countText } from '../../pages/format.ts';
import { gatewaySubject } from '../gateway/gateways.ts';
import type { LackingBalance } from './balance-queries.ts';
import { listLackingBalance, updateBalanceLow } from './balance-queries.ts';

function balanceLow({ gateway, environment, ...lacking }: LackingBalance) {
  const { transferCount, refundCount, isPart, amountPaise } = lacking;
  const counts = [countText(refundCount, 'refund'), countText(transferCount, 'transfer')];
  const waiting = counts.filter((text) => !text.startsWith('0 ')).join(' and ');
  // If the database knows of no missing amount, all of it may be missing.
  const missingPaise = lacking.missingPaise || amountPaise;
  const andMore = isPart ? ' and fees that are not known yet' : '';
  return {
    subject: gatewaySubject(gateway, environment),
    fields: { gateway, environment, transferCount, refundCount, missingPaise },
    message: `The platform's balance at the gateway is too small for ${waiting}: at most INR ${(missingPaise / 100).toFixed(2)}${andMore} is missing`,
  };
}

/**
 * Updates the alert about each gateway's balance with what waits for it, or raises it.
 *
 * @param error the refusal that the gateway has just given, if any
 */
export async function alertBalanceLow(deps: AlertDeps, error?: Error): Promise<void> {
  for (const lacking of await listLackingBalance(deps.sql)) {
    const { subject, fields, message } = balanceLow(lacking);
    const details = { ...fields, message, ...(error && { error: error.message }) };
    if (!(await updateBalanceLow(deps.sql, subject, details)))
      await raiseAlert(deps, { kind: 'gateway_balance_low', subject, message, fields, error });
  }
}
