import type { Memory } from '../memory.ts';
import { violation, type Violation } from './report.ts';
import type { ComparedEvent } from './rows.ts';
import type { Compared } from './compared.ts';
import { isLost, type Allowed } from './service.ts';

/** An event that is not accepted by then is FAILED. Source: the specification's "Retry policy". */
const MOST_ATTEMPTS = 5;

/** The events of each order: one for each step that has one, numbered without gaps. */
export function eventViolations({ rows }: Compared): Violation[] {
  const seen = new Set<string>();
  return [...rows.orders.keys()].flatMap((orderNumber) => {
    const events = rows.events.get(orderNumber) ?? [];
    const expected = (rows.steps.get(orderNumber) ?? []).flatMap(({ step }) =>
      step.event ? [`${step.event.sequence} ${step.event.type} of step ${step.number}`] : [],
    );
    const found = events.map(
      ({ sequence, type, stepNumber }) => `${sequence} ${type} of step ${stepNumber}`,
    );
    const faults = events.flatMap((event) => bodyFaults(event, seen));
    const isGapless = events.every(({ sequence }, index) => sequence === index + 1);
    if (!isGapless || expected.join() !== found.join()) {
      faults.push(
        `its steps have the events ${expected.join(', ')}; there are ${found.join(', ')}`,
      );
    }
    return faults.map((fault) => violation('event', orderNumber, fault));
  });
}

function bodyFaults(
  { eventId, sequence, type, orderNumber, named }: ComparedEvent,
  seen: Set<string>,
) {
  const isSeen = seen.has(eventId);
  seen.add(eventId);
  const expected = [eventId, sequence, type, orderNumber].join(' ');
  return [
    ...(isSeen ? [`the event id ${eventId} is used twice`] : []),
    ...(named === expected ? [] : [`the body of ${expected} names ${named}`]),
  ];
}

/** Each due event was accepted, or is FAILED after exactly five attempts; its bytes never changed. */
export function deliveryViolations({ memory, rows, allowed }: Compared): Violation[] {
  const { received } = memory;
  const events = [...rows.events.values()].flat();
  const known = new Set(events.map(({ eventId }) => eventId));
  const strange = [...received]
    .filter(([eventId, { atMs }]) => !known.has(eventId) && !isLost(allowed, atMs))
    .map(([eventId, { orderNumber }]) => {
      const fault = `its endpoint received ${eventId}, which the database does not have`;
      return violation('lost', orderNumber, fault);
    });
  const faults = events.flatMap((event) => {
    const fault = deliveryFault(event, received, allowed);
    return fault ? violation('delivery', event.orderNumber, `${event.type} ${fault}`) : [];
  });
  return [...strange, ...faults];
}

function deliveryFault(
  event: ComparedEvent,
  received: Memory['received'],
  allowed: Allowed,
): string | undefined {
  const { eventId, state, hasUrl, bodyHash } = event;
  if (state === null) return hasUrl ? 'has no delivery' : undefined;
  const arrived = received.get(eventId);
  const others = [...(arrived?.bodyHashes ?? [])].filter((hash) => hash !== bodyHash);
  if (others.length > 0 && !isLost(allowed, arrived?.atMs ?? 0))
    return 'arrived with other bytes than the database has';
  const counts = `after ${event.scheduled} scheduled attempts, ${event.accepted} accepted`;
  switch (state) {
    case 'DELIVERED':
      if (event.accepted === 0) return `is DELIVERED ${counts}`;
      return !arrived?.accepted ? 'is DELIVERED, but its endpoint accepted none' : undefined;
    case 'FAILED':
      return event.scheduled === MOST_ATTEMPTS && event.accepted === 0
        ? undefined
        : `is FAILED ${counts}`;
    default:
      return `is ${state} ${counts}`;
  }
}
