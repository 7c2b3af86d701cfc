/**
 * The limits of time in the tests, and the only ones: what has not happened by then hangs. They are far
 * above what anything takes on a busy machine, so that no test depends on this machine's speed.
 */

/** How long a test may wait for one thing. */
export const UNTIL_MS = 240_000;

/** How long a test, or what is started for a file of tests, may take. */
export const HANGS_MS = 600_000;

/**
 * How long the API of a test's process may take, where the contract has 5 s. Short enough that a request
 * which is repeated after it has several tries within `UNTIL_MS`.
 */
export const ANSWER_WITHIN_MS = 30_000;

/** The same of the gateway's simulator, which is in that process, too, where production has 3 s. */
export const GATEWAY_ANSWERS_WITHIN_MS = 10_000;
