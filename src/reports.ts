import { channel } from 'node:diagnostics_channel';

/** What a part of the service reports to listeners in the same process, such as metrics. */
export interface Reports<Report> {
  /** Calls every listener. It costs nothing while there is none. */
  publish(report: Report): void;
  /** @returns a function that unsubscribes */
  subscribe(listener: (report: Report) => void): () => void;
}

/** Reports of one kind. @param name unique in the service */
export function createReports<Report>(name: string): Reports<Report> {
  const reports = channel(`merchant-payment-order-service:${name}`);
  return {
    publish: (report) => reports.publish(report),
    subscribe(listener) {
      const onMessage = (report: unknown) => listener(report as Report);
      reports.subscribe(onMessage);
      return () => reports.unsubscribe(onMessage);
    },
  };
}
