/** Converts a protobuf Duration or Timestamp to seconds. */
export function secondsOf(
  time: { seconds?: unknown; nanos?: number | null } | null | undefined,
): number {
  return Number(time?.seconds ?? 0) + (time?.nanos ?? 0) / 1e9;
}
