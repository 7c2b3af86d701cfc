/** The wait before attempts 2 to 5, in milliseconds. Source: the specification's "Retry policy". */
export const WEBHOOK_RETRY_DELAYS_MS = [5, 30, 120, 720].map((minutes) => minutes * 60_000);
