import { setTimeout as delay } from 'node:timers/promises';
import type { ProductionLike } from '../production-like/start.ts';
import type { Fault } from './fault-plan.ts';

type Cluster = Pick<ProductionLike, 'member' | 'link'>;

/** Begins a fault and ends it after its time. A killed process is started again by its supervisor. */
export async function inflict(cluster: Cluster, fault: Fault): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      return cluster.member(fault.victim).signal('SIGKILL');
    case 'freeze': {
      const member = cluster.member(fault.victim);
      member.signal('SIGSTOP');
      await delay(fault.durationMs);
      return member.signal('SIGCONT');
    }
    case 'cut': {
      const { from, to } = fault.cut;
      const links = from.map((member) => cluster.link(member, to));
      await Promise.all(links.map(async (link) => link[fault.how]()));
      await delay(fault.durationMs);
      await Promise.all(links.map((link) => link.forward()));
    }
  }
}
