import { heartbeat } from '@temporalio/activity';

const HEARTBEAT_MS = 5000;

/**
 * Heartbeats while an activity works, so that another worker continues soon after its process has died or
 * stopped.
 */
export async function withHeartbeats<Result>(work: () => Promise<Result>): Promise<Result> {
  const heartbeats = setInterval(heartbeat, HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeats);
  }
}
