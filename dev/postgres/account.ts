import { existsSync, statSync } from 'node:fs';
import { SetupError } from '../../src/setup-error.ts';

/** The user that runs PostgreSQL: empty for this process's user; another one under root. */
export interface PostgresAccount {
  readonly uid?: number;
  readonly gid?: number;
}

/** The uid of the unprivileged user on Linux. */
const NOBODY_UID = 65_534;

/**
 * The account that runs PostgreSQL on this data directory. PostgreSQL refuses to run as root, so
 * under root it is the owner of the directory, or the unprivileged user.
 *
 * @throws SetupError as root on a system other than Linux, or when another user owns the directory.
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
    ? { uid: NOBODY_UID, gid: NOBODY_UID }
    : { uid: owner.uid, gid: owner.gid };
}

/**
 * The data directory as an argument of PostgreSQL.
 *
 * Another account may have no access to the parent folders (`/root`, a `mktemp -d`). The process
 * enters the directory before it changes the account, and `/proc/self/cwd` refers to it directly.
 */
export function dataDirArgument(dataDir: string, account: PostgresAccount): string {
  return account.uid === undefined ? dataDir : '/proc/self/cwd';
}
