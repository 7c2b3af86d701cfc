/** The wait before attempts 2 to 5, in milliseconds. Source: the specification's "Retry policy". */
export const WEBHOOK_RETRY_DELAYS_MS = [5, 30, 120, 720].map((minutes) => minutes * 60_000);

/** How long an attempt leases its delivery: longer than the sender's 15 s, so that its process is dead afterwards. */
export const ATTEMPT_LEASE_MS = 25_000;
