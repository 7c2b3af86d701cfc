import type { OrderRecord } from '../../src/contracts/activities.ts';
import { sendWebhook } from '../activities.ts';

/**
 * Sends the webhooks that were handed to the order's workflow, because their first attempt has not ended them. It
 * does so independently of the order's lifecycle.
 */
export class Webhooks {
  private readonly underWay = new Set<string>();
  private readonly onEnd: () => void;

  /** @param onEnd called when a webhook was accepted, or is FAILED after its fifth attempt */
  constructor(onEnd: () => void) {
    this.onEnd = onEnd;
  }

  isEmpty(): boolean {
    return this.underWay.size === 0;
  }

  send(deliveries: OrderRecord['deliveries']): void {
    for (const { deliveryId, kind } of deliveries) {
      if (this.underWay.has(deliveryId)) continue;
      this.underWay.add(deliveryId);
      const end = () => {
        this.underWay.delete(deliveryId);
        this.onEnd();
      };
      // A rejection means FAILED, which the database has recorded.
      void sendWebhook
        .executeWithOptions({ summary: `Webhook ${kind}` }, [{ deliveryId }])
        .then(end, end);
    }
  }
}
