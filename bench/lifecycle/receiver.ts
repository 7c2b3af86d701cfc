import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The four webhooks of an order that is created, paid, delivered and completed. */
const WEBHOOKS_PER_ORDER = 4;

/** The webhooks of one order that have arrived. */
interface Arrivals {
  readonly eventIds: Set<string>;
  /** By the event's name. */
  readonly events: Map<string, PromiseWithResolvers<void>>;
  readonly all: PromiseWithResolvers<void>;
}

/** Starts a merchant's endpoint on the loopback interface, which responds with 200 immediately. */
export async function startReceiver() {
  const orders = new Map<string, Arrivals>();
  const arrivalsOf = (orderNumber: string): Arrivals => {
    const known = orders.get(orderNumber);
    if (known) return known;
    const arrivals = {
      eventIds: new Set<string>(),
      events: new Map<string, PromiseWithResolvers<void>>(),
      all: Promise.withResolvers<void>(),
    };
    // The first webhook may arrive before the response to POST /orders.
    orders.set(orderNumber, arrivals);
    return arrivals;
  };
  const eventOf = ({ events }: Arrivals, event: string) => {
    const arrival = events.get(event) ?? Promise.withResolvers<void>();
    events.set(event, arrival);
    return arrival;
  };
  const server = createServer(async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    answer.writeHead(200).end();
    const { event, event_id, data } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      event: string;
      event_id: string;
      data: { order_number: string };
    };
    const arrivals = arrivalsOf(data.order_number);
    arrivals.eventIds.add(event_id);
    eventOf(arrivals, event).resolve();
    if (arrivals.eventIds.size === WEBHOOKS_PER_ORDER) arrivals.all.resolve();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    /** Resolves when this event of the order has arrived. */
    until: (orderNumber: string, event: string) => eventOf(arrivalsOf(orderNumber), event).promise,
    /** Resolves when all four have arrived. */
    untilAll: (orderNumber: string) => arrivalsOf(orderNumber).all.promise,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
/** See {@link startReceiver}. */
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
