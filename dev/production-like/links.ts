import { startTcpProxy, type TcpProxy } from '../processes/tcp-proxy.ts';
import type { MemberName } from './plan.ts';

/** A server that other members connect to through links. */
export type LinkTarget = 'postgres' | 'temporal' | 'gateway-simulator';

/** The network between the members: one TCP proxy for each arrow. */
export interface Links {
  /** @throws Error when `from` does not use that server */
  link(from: MemberName, to: LinkTarget): TcpProxy;
  stop(): Promise<void>;
}

/** Which members connect to which servers. */
function arrowsOf(members: readonly MemberName[]): (readonly [MemberName, LinkTarget])[] {
  return members.flatMap((from): (readonly [MemberName, LinkTarget])[] => {
    if (from === 'temporal') return [[from, 'postgres']];
    if (!/^(api|worker)-/.test(from)) return [];
    return (['postgres', 'temporal', 'gateway-simulator'] as const).map((to) => [from, to]);
  });
}

/**
 * Starts a proxy for each arrow between the members.
 *
 * @param targets host:port of each server
 */
export async function startLinks(
  members: readonly MemberName[],
  targets: Readonly<Record<LinkTarget, string>>,
): Promise<Links> {
  const proxies = new Map<string, TcpProxy>();
  for (const [from, to] of arrowsOf(members)) {
    proxies.set(`${from} ${to}`, await startTcpProxy(targets[to]));
  }
  return {
    link(from, to) {
      const proxy = proxies.get(`${from} ${to}`);
      if (proxy === undefined) throw new Error(`There is no link from ${from} to ${to}`);
      return proxy;
    },
    async stop() {
      await Promise.all([...proxies.values()].map((proxy) => proxy.stop()));
    },
  };
}

/** The URL of a server, at the proxy in front of it. */
export function throughProxy(url: string, { address }: TcpProxy): string {
  const changed = new URL(url);
  changed.host = address;
  return changed.href.replace(/\/$/, url.endsWith('/') ? '/' : '');
}
