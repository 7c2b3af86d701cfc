/** What can happen to an order. `deadline`: the running deadline passes. `loseToBank`: a lost chargeback. */
export type Act =
  | 'pay'
  | 'failToPay'
  | 'deliver'
  | 'dispute'
  | 'submitEvidence'
  | 'resolve'
  | 'accept'
  | 'decideForMerchant'
  | 'decideForBuyer'
  | 'refund'
  | 'cancel'
  | 'deadline'
  | 'loseToBank';

/** What the people of a story say. */
interface Texts {
  trackingId?: string;
  dispute?: string;
  evidence?: string;
  resolution?: string;
  decision?: string;
  reason?: string;
}

/** The past of one order: when it was created, and each act with the hours since the one before. */
export interface Story {
  createdHoursAgo: number;
  acts: readonly (readonly [Act, number])[];
  merchantOrderId: string;
  buyer: { buyerName: string; buyerEmail: string; buyerPhone: string };
  /** The amount in rupees. */
  item: { description: string; amount: number };
  texts: Texts;
}

const HOUR_MS = 3_600_000;
/** The deadlines of the contract, whatever a developer has set: the stories count on them. */
export const TERMS = {
  paymentLinkMs: 24 * HOUR_MS,
  completionWindowMs: 24 * HOUR_MS,
  disputeAnswerMs: 72 * HOUR_MS,
};

/** The merchant's endpoint answers with an error since then. */
export const ENDPOINT_FAILS_SINCE_HOURS = 50;

const PAID = [['pay', 0.3]] as const;
const DELIVERED = [...PAID, ['deliver', 24]] as const;
const DISPUTED = [...DELIVERED, ['dispute', 2]] as const;
const COMPLETED = [...DELIVERED, ['deadline', 24]] as const;
const REVIEWED = [...DISPUTED, ['submitEvidence', 22]] as const;

const NOT_AS_DESCRIBED = 'This is not what the picture shows, and not what I ordered.';
const NEVER_CAME = 'The courier says delivered, but nothing has arrived at my address.';
const DAMAGED = 'The parcel was torn open when it came, and what was in it cannot be used.';

/**
 * The stories by what becomes of the order, each with the days since its order was created. All of them happen
 * between the afternoon and the evening before now, so that no webhook is on its last attempt.
 */
const PAST: readonly { days: readonly number[]; acts: Story['acts']; texts?: Texts }[] = [
  {
    days: [2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 21, 23, 28],
    acts: COMPLETED,
  },
  { days: [6, 17], acts: [['failToPay', 0.2], ...COMPLETED] },
  {
    days: [9, 20],
    acts: [...DISPUTED, ['resolve', 22], ['deadline', 24]],
    texts: {
      dispute: NOT_AS_DESCRIBED,
      resolution: 'The right one is on its way, at our expense.',
    },
  },
  {
    days: [13],
    acts: [...REVIEWED, ['decideForMerchant', 25], ['deadline', 24]],
    texts: {
      dispute: NEVER_CAME,
      evidence: 'Signed for at the door on the day of the delivery: the slip is with the courier.',
      decision: "The courier's slip has the buyer's signature.",
    },
  },
  { days: [4, 11, 22], acts: [...PAID, ['refund', 1]], texts: { reason: 'Out of stock' } },
  { days: [7, 24], acts: [...DISPUTED, ['accept', 1]], texts: { dispute: DAMAGED } },
  {
    days: [14],
    acts: [...REVIEWED, ['decideForBuyer', 25]],
    texts: {
      dispute: NEVER_CAME,
      evidence: 'It was sent by ordinary post, so there is no tracking.',
      decision: 'Nothing shows that it was delivered.',
    },
  },
  { days: [18], acts: [...DISPUTED, ['deadline', 72]], texts: { dispute: DAMAGED } },
  { days: [3, 12, 26], acts: [['cancel', 1]], texts: { reason: 'The buyer ordered it twice' } },
  { days: [5, 10, 16, 21, 27], acts: [['deadline', 24]] },
  { days: [25], acts: [...COMPLETED, ['loseToBank', 72]] },
];

/** Orders that are under way, by the hours since they were created. */
const UNDER_WAY: readonly { hours: readonly number[]; acts: Story['acts']; texts?: Texts }[] = [
  { hours: [0.4, 1.6, 17, 21], acts: [] },
  { hours: [0.9, 2.2, 17.5, 41, 66], acts: PAID },
  { hours: [25, 26, 42, 46], acts: DELIVERED },
  { hours: [46], acts: DISPUTED, texts: { dispute: NOT_AS_DESCRIBED } },
  {
    hours: [68],
    acts: REVIEWED,
    texts: {
      dispute: NEVER_CAME,
      evidence: 'Handed over at the gate; the courier has a photo of the parcel there.',
    },
  },
  {
    hours: [92],
    acts: REVIEWED,
    texts: { dispute: DAMAGED, evidence: 'Our photo of the parcel at the pick-up shows it whole.' },
  },
];

const ITEMS: readonly (readonly [description: string, amount: number])[] = [
  ['Blue cotton kurta, size M', 1299],
  ['Steel tiffin box, three tiers', 749],
  ['Assam tea, 500 g', 420],
  ['Block-printed bedsheet, double', 1850],
  ['Brass diya, set of four', 599],
  ['Terracotta planter, 10 inch', 380],
  ['Banarasi silk dupatta', 3499],
  ['Filter coffee maker, steel', 890],
  ['Jute shopping bag, pair', 349.5],
  ['Kolhapuri chappals, size 8', 1590],
  ['Pashmina shawl, grey', 6800],
  ['Alphonso mango pulp, six tins', 1140],
  ['Wooden chess set', 2250],
  ['Sandalwood soap, box of six', 510],
  ['Handloom table runner', 975],
  ['Copper water bottle, 1 litre', 1099],
];

const BUYERS = [
  'Asha Menon',
  'Ravi Iyer',
  'Meera Joshi',
  'Imran Qureshi',
  'Kavya Nair',
  'Arjun Patil',
  'Neha Gupta',
  'Sunil Rao',
  'Fatima Shaikh',
  'Vikram Singh',
  'Priya Das',
  'Joseph Mathew',
  'Divya Reddy',
];

function storyOf(
  index: number,
  createdHoursAgo: number,
  { acts, texts = {} }: Pick<Story, 'acts'> & { texts?: Texts },
): Omit<Story, 'merchantOrderId'> {
  const buyerName = BUYERS[index % BUYERS.length] ?? '';
  const [description, amount] = ITEMS[(index * 5) % ITEMS.length] ?? ['', 0];
  return {
    createdHoursAgo,
    acts,
    texts: { trackingId: `DTDC${48_120_000 + index * 137}`, ...texts },
    buyer: {
      buyerName,
      buyerEmail: `${buyerName.toLowerCase().replace(' ', '.')}@example.com`,
      buyerPhone: `+9190000${String(10_000 + (index % BUYERS.length) * 731)}`,
    },
    item: { description, amount },
  };
}

/** The stories of the last 30 days, the oldest order first. */
export function stories(): Story[] {
  const past = PAST.flatMap(({ days, ...rest }) =>
    days.map((day, index) => ({
      hours: day * 24 + 18 + ((day * 137 + index * 53) % 350) / 60,
      ...rest,
    })),
  );
  const underWay = UNDER_WAY.flatMap(({ hours, ...rest }) =>
    hours.map((hour) => ({ hours: hour, ...rest })),
  );
  return [...past, ...underWay]
    .map(({ hours, ...rest }, index) => storyOf(index, hours, rest))
    .toSorted((one, two) => two.createdHoursAgo - one.createdHoursAgo)
    .map((story, index) => ({ ...story, merchantOrderId: `DB-${1041 + index}` }));
}
