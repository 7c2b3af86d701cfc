/**
 * `activated`: it may receive transfers. `waiting`: the gateway has not verified it yet. `suspended`: the gateway has
 * stopped it. `unknown`: it exists, and the gateway does not report whether it is verified. `missing`: the gateway no
 * longer has it.
 */
export type LinkedAccountState = 'activated' | 'waiting' | 'suspended' | 'unknown' | 'missing';

/** The facts that decide whether a merchant can take payments in production: its account at its present gateway. */
export interface Readiness {
  gateway: string;
  isReady: boolean;
  /** The state that the gateway reports for the linked account. Null if the merchant has none. */
  linkedAccountState: LinkedAccountState | null;
  /** The gateway makes no transfers to the account before this time. */
  transfersFrom: Date | null;
}

const REASONS = {
  waiting: (gateway) => `${gateway} has not activated its linked account yet`,
  suspended: (gateway) => `${gateway} has suspended its linked account`,
  missing: (gateway) => `${gateway} no longer has its linked account`,
} as const satisfies Partial<Record<LinkedAccountState, (gateway: string) => string>>;

/**
 * Why a merchant cannot take payments in production, as a clause about the merchant.
 *
 * @returns null if it can. `until`: when the reason ends by itself, if that is known
 */
export function whyNotReady({
  gateway,
  isReady,
  linkedAccountState: state,
  transfersFrom,
}: Readiness): { reason: string; until: Date | null } | null {
  if (isReady) return null;
  if (state === null) {
    return { reason: 'it has no linked account to be paid out to', until: null };
  }
  if (state === 'activated' || state === 'unknown') {
    const reason = `${gateway} makes no transfers to its new linked account yet`;
    return { reason, until: transfersFrom };
  }
  return { reason: REASONS[state](gateway), until: null };
}
