/** One program of Temporal. */
interface Program {
  /** The file's name, the same in the official archives. */
  readonly name: string;
  /** The Go package that it is built from. */
  readonly goPackage: string;
}

/** A version, and the folder in `dev/temporal/go` whose module pins what it is built from. */
interface Release {
  readonly version: string;
  readonly goModule: string;
}

/** Programs that Temporal publishes together, in one archive of a project's GitHub releases. */
export interface Artifact {
  /** For lines that a person reads. */
  readonly title: string;
  /** GitHub's owner/name. */
  readonly repository: string;
  /** `NAME_VERSION_OS_ARCH.tar.gz` is the archive. */
  readonly archiveName: string;
  readonly checksumsFile: (version: string) => string;
  readonly programs: readonly Program[];
  /**
   * The version that this project runs on, and an older one that shares few module versions with it:
   * where a module proxy refuses a version that it once had, the other can often still be built.
   */
  readonly releases: readonly [Release, ...Release[]];
}

/** The server, and the tool that makes its database schema. */
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

/** The Web UI, a server of its own. */
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
