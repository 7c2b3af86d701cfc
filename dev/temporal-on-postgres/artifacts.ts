/** One program of Temporal. */
interface Program {
  /** The name of its file, also in the official archives. */
  readonly name: string;
  /** The Go package of its source. */
  readonly goPackage: string;
}

/** A version, and the folder in `dev/temporal/go` whose Go module pins its dependencies. */
interface Release {
  readonly version: string;
  readonly goModule: string;
}

/** Programs in one archive of a GitHub release. */
export interface Artifact {
  /** The name in messages. */
  readonly title: string;
  /** GitHub's owner/name. */
  readonly repository: string;
  /** NAME in the archive's file name, `NAME_VERSION_OS_ARCH.tar.gz`. */
  readonly archiveName: string;
  readonly checksumsFile: (version: string) => string;
  readonly programs: readonly Program[];
  /**
   * The current version and an older fallback, which shares few module versions with it: where a
   * module proxy lacks a dependency of one, the other can often still be built.
   */
  readonly releases: readonly [Release, ...Release[]];
}

/** The server, and the tool that creates its database schema. */
export const SERVER_ARTIFACT: Artifact = {
  title: 'Temporal server',
  repository: 'temporalio/temporal',
  archiveName: 'temporal',
  checksumsFile: () => 'checksums.txt',
  programs: [
    { name: 'temporal-server', goPackage: 'go.temporal.io/server/cmd/server' },
    { name: 'temporal-sql-tool', goPackage: 'go.temporal.io/server/cmd/tools/sql' },
  ],
  releases: [
    { version: '1.32.2', goModule: 'current' },
    { version: '1.29.1', goModule: 'older' },
  ],
};

/** The Web UI, which is a separate server. */
export const UI_ARTIFACT: Artifact = {
  title: 'Temporal Web UI',
  repository: 'temporalio/ui-server',
  archiveName: 'ui-server',
  checksumsFile: (version) => `ui-server_${version}_checksums.txt`,
  programs: [{ name: 'ui-server', goPackage: 'github.com/temporalio/ui-server/v2/cmd/server' }],
  releases: [
    { version: '2.58.0', goModule: 'current' },
    { version: '2.42.1', goModule: 'older' },
  ],
};
