import type { PaymentRef } from '../../src/contracts/ids.ts';
import type { Sql } from '../../src/db/client.ts';
import type { OrderState } from '../../src/domain/index.ts';
import type { PresentOrder } from '../../src/orders/presenter.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import type { StepRecorder } from '../../src/orders/steps/record-step.ts';
import type { DemoMerchant } from '../dev-facts.ts';
import type { DemoGateway } from './demo-gateway.ts';
import type { MovedClock } from './moved-clock.ts';
import type { Story } from './stories.ts';

/** What the past of the demo merchant is written with. */
export interface DemoDeps {
  sql: Sql;
  clock: MovedClock;
  demoGateway: DemoGateway;
  present: PresentOrder;
  recordStep: StepRecorder;
  merchant: DemoMerchant;
}

/** An order whose past is being written. */
export interface DemoOrder {
  /** As it was created. */
  row: OrderRow;
  state: OrderState;
  story: Story;
  payment?: PaymentRef;
}
