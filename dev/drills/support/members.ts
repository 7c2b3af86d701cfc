import type { Drill } from './cluster.ts';
import type { MemberName } from '../../production-like/start.ts';
import type { TcpProxy } from '../../processes/tcp-proxy.ts';

type Kind = 'api' | 'worker';

/** The names of the APIs or workers. */
export function namesOf({ cluster }: Drill, ...kinds: Kind[]): MemberName[] {
  return cluster.members
    .map(({ name }) => name)
    .filter((name) => kinds.some((kind) => name.startsWith(`${kind}-`)));
}

/** Stops members, one after the other. */
export async function stopMembers({ cluster }: Drill, names: readonly MemberName[]): Promise<void> {
  await Promise.all(names.map((name) => cluster.member(name).stop()));
}

/** Starts members that were stopped, and waits until they are ready. */
export async function startMembers(
  { cluster }: Drill,
  names: readonly MemberName[],
): Promise<void> {
  await Promise.all(names.map((name) => cluster.member(name).start()));
}

/** The network between each of these members and a server. */
export function linksOf(
  { cluster }: Drill,
  names: readonly MemberName[],
  to: 'postgres' | 'temporal' | 'gateway-simulator',
): TcpProxy[] {
  return names.map((name) => cluster.link(name, to));
}

/** Ends a member with SIGKILL, and keeps it down. */
export async function kill({ cluster }: Drill, name: MemberName): Promise<void> {
  const member = cluster.member(name);
  member.signal('SIGKILL');
  await member.stop();
}
