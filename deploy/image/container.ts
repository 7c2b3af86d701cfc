import { dirname, join } from 'node:path';
import type { Stage } from './stages.ts';

/**
 * Makes a root file system in a mount namespace that only the command sees: this machine's `/usr` and
 * `/etc` and the image's WORKDIR, all read-only, an empty `/tmp` and, if wanted, `/data`. Then the command runs there as
 * the image's user.
 */
const SCRIPT = `set -eu
root=$1 workdir=$2 content=$3 node=$4 secrets=$5 data=$6 user=$7
shift 7
mount -t tmpfs -o mode=755,size=1m tmpfs "$root"
mkdir -p "$root/usr" "$root/etc" "$root/dev" "$root/proc" "$root/tmp" "$root/opt/node" "$root/run/secrets" "$root$workdir"
for link in bin lib lib64 sbin; do
  [ -e "/usr/$link" ] && ln -s "usr/$link" "$root/$link"
done
bind() {
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
}
bind /usr /usr
bind /etc /etc
bind "$content" "$workdir"
bind "$node" /opt/node
bind "$secrets" /run/secrets
[ -z "$data" ] || { mkdir "$root/data" && mount --bind "$data" "$root/data"; }
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount -t tmpfs -o mode=1777,size=64m tmpfs "$root/tmp"
mount -o remount,ro "$root"
exec chroot $user "$root" /usr/bin/env -C "$workdir" "$@"
`;

/** What a container gets beside its image. */
export interface ContainerOptions {
  /** An empty folder where its root is mounted, unseen by other processes. */
  readonly mountPoint: string;
  /** Its files are below /run/secrets. */
  readonly secretsFolder: string;
  /** Mounted at /data, writable. */
  readonly dataFolder?: string;
  /** Added to the image's environment. */
  readonly env: Record<string, string>;
}

/** A command in the image's file system: what to execute, and its whole environment. */
export interface ContainerCommand {
  readonly file: string;
  readonly args: string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Without root's privileges the namespace belongs to this user, who has no others in it. */
function namespaceOptions(user: string): { unshare: string[]; chroot: string } {
  if (process.getuid?.() === 0) return { unshare: ['--mount'], chroot: `--userspec=${user}` };
  return { unshare: ['--map-root-user', '--mount'], chroot: '' };
}

/** Wraps a command so that it runs as in a container of the image with a read-only root. */
export function inContainer(
  { root, workdir, environment, user }: Stage,
  { mountPoint, secretsFolder, dataFolder = '', env }: ContainerOptions,
  command: readonly string[],
): ContainerCommand {
  const options = namespaceOptions(user);
  const content = join(root, workdir);
  const node = dirname(process.execPath);
  return {
    file: 'unshare',
    args: [
      ...options.unshare,
      'sh',
      '-c',
      SCRIPT,
      'container',
      mountPoint,
      workdir,
      content,
      node,
      secretsFolder,
      dataFolder,
      options.chroot,
      ...command,
    ],
    env: {
      PATH: '/opt/node:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin',
      ...environment,
      ...env,
    },
  };
}
