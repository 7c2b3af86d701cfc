import type { GithubRelease } from '../files/archives.ts';

/** Programs of Temporal, in one archive of a GitHub release. */
export interface Artifact extends GithubRelease {
  /** The name in messages. */
  readonly title: string;
  /** The package of each program's source. The module in `go` pins the same version. */
  readonly goPackages: readonly string[];
}

/** The server, and the tool that creates its database schema. */
export const SERVER_ARTIFACT: Artifact = {
  title: 'Temporal server',
  repository: 'temporalio/temporal',
  version: '1.32.2',
  archiveName: 'temporal',
  checksumsFile: 'checksums.txt',
  programs: ['temporal-server', 'temporal-sql-tool'],
  goPackages: ['go.temporal.io/server/cmd/server', 'go.temporal.io/server/cmd/tools/sql'],
};

/** The Web UI, which is a separate server. */
export const UI_ARTIFACT: Artifact = {
  title: 'Temporal Web UI',
  repository: 'temporalio/ui-server',
  version: '2.58.0',
  archiveName: 'ui-server',
  checksumsFile: 'ui-server_2.58.0_checksums.txt',
  programs: ['ui-server'],
  goPackages: ['github.com/temporalio/ui-server/v2/cmd/server'],
};
