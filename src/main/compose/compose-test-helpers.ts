import type { Client } from '@temporalio/client';
import type { SendDeps } from '../../orders/commands/send-command.ts';
import type { DeclaredCommand } from '../../orders/routes/command-routes.ts';
import { bankHelpers } from '../../orders/routes/bank-helpers.ts';
import { testHelpers } from '../../orders/routes/test-helpers.ts';
import { createSandboxBank } from '../../payments/reversals/sandbox-bank.ts';
import { createSandboxPayment } from '../../payments/sessions/sandbox-payment.ts';
import type { SessionDeps } from '../../payments/sessions/sessions.ts';
import { createWorkflowInspector } from '../../temporal/pending-activities.ts';
import { createAttemptClock } from '../../webhooks/schedule/advance-attempts.ts';

/** What the API shares with the sandbox's test helpers. */
interface Shared {
  readonly sessions: SessionDeps;
  readonly orders: SendDeps;
}

/** The test helpers of the sandbox, which act as the buyer, the buyer's bank and an operator. */
export function composeTestHelpers(
  temporal: Client,
  { sessions, orders }: Shared,
): DeclaredCommand[] {
  const { sql } = sessions;
  const inspector = createWorkflowInspector(temporal);
  return [
    ...testHelpers({
      ...orders,
      pay: createSandboxPayment(sessions),
      advanceAttempts: createAttemptClock({ sql, inspector }),
    }),
    ...bankHelpers({ ...orders, ...createSandboxBank(sessions) }),
  ];
}
