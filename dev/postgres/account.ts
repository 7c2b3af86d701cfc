import { existsSync, statSync } from 'node:fs';
import { SetupError } from '../../src/setup-error.ts';

/** Who runs PostgreSQL: ourselves (empty), or another user where we are root, whom it refuses. */
export interface PostgresAccount {
  readonly uid?: number;
  readonly gid?: number;
}

/** The user that owns nothing: `nobody`, on every Linux. */
const NOBODY = 65_534;

/**
 * The account that runs PostgreSQL for this data directory: whoever owns it already, so that a
 * directory made by a normal user is still theirs after a start by root.
 *
 * @throws SetupError as root on a system other than Linux, or when the directory is not ours.
 */
export function postgresAccount(dataDir: string): PostgresAccount {
  const owner = existsSync(dataDir) ? statSync(dataDir) : undefined;
  const ourUid = process.getuid?.();
  if (ourUid !== 0) {
    if (owner === undefined || owner.uid === ourUid) return {};
    throw new SetupError(
      `${dataDir} belongs to another user (${owner.uid}): start as root, or choose another DATA_DIR`,
    );
  }
  if (process.platform !== 'linux') {
    throw new SetupError(
      'PostgreSQL refuses to run as root: start as a normal user, or set DATABASE_URL',
    );
  }
  return owner === undefined || owner.uid === 0
    ? { uid: NOBODY, gid: NOBODY }
    : { uid: owner.uid, gid: owner.gid };
}

/**
 * How PostgreSQL is told where its data is.
 *
 * Under another account, the folders above the data directory may be closed to it (`/root`, a
 * `mktemp -d`), and opening them is not ours to do. We enter the directory before we change the
 * account, and `/proc/self/cwd` leads back into it without passing the folders above.
 */
export function dataDirArgument(dataDir: string, account: PostgresAccount): string {
  return account.uid === undefined ? dataDir : '/proc/self/cwd';
}
