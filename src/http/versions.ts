import { DomainError } from '../domain/errors.ts';

/** The parts of a request that may differ between versions, before validation. */
export interface VersionedInput {
  readonly query: unknown;
  readonly body: unknown;
}

/** The parts of a response that may differ between versions. */
export interface VersionedReply {
  readonly status: number;
  readonly body: unknown;
}

/** How a version differs from the previous one. */
export interface VersionChange {
  /** Converts a request of the previous version into one of this version. */
  request?(operationId: string, input: VersionedInput): VersionedInput;
  /** Converts a response of this version into one of the previous version. */
  response?(operationId: string, reply: VersionedReply): VersionedReply;
}

/** One entry of the registry. Its date is also the day that superseded the previous version. */
export interface ApiVersion {
  readonly version: string;
  readonly changeFromPrevious?: VersionChange;
}

/** The current version, sent with every response and every webhook. */
export const API_VERSION = '2026-11-20';

/** Every version, oldest first. A breaking change adds an entry and updates the date above. */
const API_VERSIONS: readonly ApiVersion[] = [{ version: API_VERSION }];

/** The version that one request pinned, with the conversions to and from the current one. */
export interface NegotiatedVersion {
  /** `Deprecation` and `Sunset` of a superseded version; empty for the current one. */
  readonly headers: Readonly<Record<string, string>>;
  upgrade(operationId: string, input: VersionedInput): VersionedInput;
  downgrade(operationId: string, reply: VersionedReply): VersionedReply;
}

/** The supported versions, and the negotiation of a request's version. */
export interface VersionRegistry {
  readonly current: string;
  /** Versions that a request may pin at this moment, oldest first. */
  supported(nowMs: number): string[];
  /**
   * Determines the version of a request.
   *
   * @param pinned the request's `X-API-Version`, if it sent one.
   * @throws DomainError UNSUPPORTED_API_VERSION for an unknown version or one past its sunset.
   */
  negotiate(pinned: string | undefined, nowMs: number): NegotiatedVersion;
}

/** A superseded version is supported for twelve months. Source: the contract. */
function sunsetMs(supersededMs: number): number {
  const sunset = new Date(supersededMs);
  sunset.setUTCFullYear(sunset.getUTCFullYear() + 1);
  return sunset.getTime();
}

/** RFC 9745 requires a structured date in epoch seconds, RFC 8594 an HTTP date. */
function deprecationHeaders(supersededMs: number): Record<string, string> {
  return {
    Deprecation: `@${supersededMs / 1000}`,
    Sunset: new Date(sunsetMs(supersededMs)).toUTCString(),
  };
}

function negotiateVersion(changes: readonly VersionChange[], headers: Record<string, string>) {
  return {
    headers,
    upgrade: (operationId: string, input: VersionedInput) =>
      changes.reduce((value, change) => change.request?.(operationId, value) ?? value, input),
    downgrade: (operationId: string, reply: VersionedReply) =>
      changes.reduceRight((value, change) => change.response?.(operationId, value) ?? value, reply),
  };
}

/**
 * Creates the version registry.
 *
 * @param versions oldest first; at least one.
 */
export function createVersionRegistry(versions = API_VERSIONS): VersionRegistry {
  const dates = versions.map(({ version }) => version);
  const supersededMs = (index: number) => Date.parse(dates[index + 1] ?? '');
  const isSupported = (index: number, nowMs: number) =>
    index === dates.length - 1 || (index >= 0 && nowMs < sunsetMs(supersededMs(index)));
  const current = dates.at(-1) ?? '';
  return {
    current,
    supported: (nowMs) => dates.filter((_, index) => isSupported(index, nowMs)),
    negotiate(pinned = current, nowMs) {
      const index = dates.indexOf(pinned);
      if (!isSupported(index, nowMs)) {
        throw new DomainError('UNSUPPORTED_API_VERSION', 'Unsupported API version');
      }
      const newer = versions.slice(index + 1).map((version) => version.changeFromPrevious ?? {});
      return negotiateVersion(
        newer,
        newer.length > 0 ? deprecationHeaders(supersededMs(index)) : {},
      );
    },
  };
}
