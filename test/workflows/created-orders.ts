import { WorkflowNotFoundError } from '@temporalio/client';
import type { TestService } from '../support/service.ts';

/** The path of an order of the API. */
export const pathOf = (order: { order_number: string }) => `/orders/${order.order_number}`;

/** Makes so many of something. */
export const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

/** Whether Temporal has no workflow of the order. */
export const isUnknown = (service: TestService, orderNumber: string) =>
  service.temporal.client.workflow
    .getHandle(orderNumber)
    .describe()
    .then(
      () => false,
      (error: unknown) => error instanceof WorkflowNotFoundError,
    );

/** Whether the sweep would wake the order. */
export const waitsForItsWorkflow = async ({ sql }: TestService, orderNumber: string) =>
  (await sql`SELECT FROM wakeups WHERE order_number = ${orderNumber}`).length > 0;
