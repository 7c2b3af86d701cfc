import type { Client } from '@temporalio/client';
import { mailWorkflowId, SEND_MAIL_WORKFLOW, TASK_QUEUE } from '../contracts/ids.ts';
import { CALL_TIMEOUT_MS } from './client.ts';

export interface MailWorkflows {
  /** Starts the workflow of a mail unless it runs. If the mail was sent or given up, the workflow ends immediately. */
  start(mailId: string): Promise<void>;
}

export function createMailWorkflows(client: Client): MailWorkflows {
  return {
    async start(mailId) {
      await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
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
