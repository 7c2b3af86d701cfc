import type { Client } from '@temporalio/client';
import { mailWorkflowId, SEND_MAIL_WORKFLOW, TASK_QUEUE } from '../contracts/ids.ts';

const START_TIMEOUT_MS = 4500;

/** Starts the `sendMail` workflow. */
export interface MailWorkflows {
  /** Starts the workflow of a mail unless it runs. For one that was sent or given up it ends immediately. */
  start(mailId: string): Promise<void>;
}

/** Creates {@link MailWorkflows} on a Temporal client. */
export function createMailWorkflows(client: Client): MailWorkflows {
  return {
    async start(mailId) {
      await client.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        client.workflow.start(SEND_MAIL_WORKFLOW, {
          workflowId: mailWorkflowId(mailId),
          taskQueue: TASK_QUEUE,
          args: [{ mailId }],
          workflowIdConflictPolicy: 'USE_EXISTING',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `Mail ${mailId}`,
        }),
      );
    },
  };
}
