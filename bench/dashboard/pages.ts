/** What the paths of pages are made of: objects of the loaded data. */
export interface Samples {
  /** The number of a completed order, with every kind of entry in its timeline. */
  completedOrder: string;
  /** The number of the order in the middle, before which a part of the list begins. */
  middleOrder: string;
  disputedOrder: string;
  delivery: string;
  merchantId: string;
  /** The id of an entry of the audit list in the middle. */
  middleAudit: string;
  busyDay: string;
}

export interface MeasuredPage {
  name: string;
  as: 'merchant' | 'operator';
  path(samples: Samples): string;
}

const merchant = (name: string, path: (samples: Samples) => string): MeasuredPage => ({
  name,
  as: 'merchant',
  path: (samples) => `/dashboard/sandbox${path(samples)}`,
});

const operator = (name: string, path: (samples: Samples) => string): MeasuredPage => ({
  name: `operator: ${name}`,
  as: 'operator',
  path: (samples) => `/operator${path(samples)}`,
});

/** Every page, with the filters that read most. A new page is added here. */
export const PAGES: readonly MeasuredPage[] = [
  merchant('home', () => ''),
  merchant('orders', () => '/orders'),
  merchant('orders, in the middle', () => '/orders?page=20000'),
  merchant('orders, the last page', () => '/orders?page=40000'),
  merchant('orders, completed, in the middle', () => '/orders?status=COMPLETED&page=12000'),
  merchant('orders, the oldest first', () => '/orders?sort=oldest&page=100'),
  merchant('orders, completed', () => '/orders?status=COMPLETED'),
  merchant('orders, a status that none has', () => '/orders?status=DELIVERED'),
  merchant('orders by number', ({ middleOrder }) => `/orders?q=${middleOrder}`),
  merchant('orders by own id', () => '/orders?q=SHOP-777'),
  merchant('orders by e-mail', () => '/orders?q=buyer77%40example.com'),
  merchant('orders by phone', () => '/orders?q=9000000077'),
  merchant('orders by UTR', () => '/orders?q=400000500000'),
  merchant('one order, completed', ({ completedOrder }) => `/orders/${completedOrder}`),
  merchant('one order, disputed', ({ disputedOrder }) => `/orders/${disputedOrder}`),
  merchant("one order's version", ({ completedOrder }) => `/orders/${completedOrder}/version`),
  merchant('disputes', () => '/disputes'),
  merchant('disputes, under review', () => '/disputes?list=underReview'),
  merchant('disputes, ended', () => '/disputes?list=ended'),
  merchant('disputes, ended, page 100', () => '/disputes?list=ended&page=100'),
  merchant('statement', ({ busyDay }) => `/statements?day=${busyDay}`),
  merchant('statement, the last page', ({ busyDay }) => `/statements?day=${busyDay}&page=2500`),
  merchant('keys', () => '/keys'),
  merchant('webhooks', () => '/webhooks'),
  merchant('deliveries', () => '/deliveries'),
  merchant('deliveries, in the middle', ({ delivery }) => `/deliveries?after=${delivery}`),
  merchant('deliveries, page 40', () => '/deliveries?page=40'),
  merchant('deliveries, FAILED', () => '/deliveries?state=FAILED'),
  merchant('deliveries, an event that none has', () => '/deliveries?event=ORDER_CANCELLED'),
  merchant('deliveries by order', ({ completedOrder }) => `/deliveries?order=${completedOrder}`),
  merchant('one delivery', ({ delivery }) => `/deliveries/${delivery}`),
  // The work queue and the page of one order also ask Temporal, which the benchmark does not run.
  operator('alerts', () => '/alerts'),
  operator('orders', () => '/orders'),
  operator('orders, in the middle', ({ middleOrder }) => `/orders?after=${middleOrder}`),
  operator('orders, page 40', () => '/orders?page=40'),
  operator('orders by e-mail', () => '/orders?text=buyer77%40example.com'),
  operator('orders of a merchant', ({ merchantId }) => `/orders?merchant=${merchantId}`),
  operator('disputes', () => '/disputes'),
  operator('one dispute', ({ disputedOrder }) => `/disputes/${disputedOrder}`),
  operator('one merchant', ({ merchantId }) => `/merchants/${merchantId}`),
  operator('ledger', () => '/ledger'),
  operator('audit', () => '/audit'),
  operator('audit, in the middle', ({ middleAudit }) => `/audit?before=${middleAudit}`),
  operator('audit of an operator', () => '/audit?who=operator7%40example.com'),
  operator('audit of an action', () => '/audit?action=dispute.decide'),
  operator('audit, two filters', ({ merchantId }) => `/audit?subject=${merchantId}&action=none`),
];
