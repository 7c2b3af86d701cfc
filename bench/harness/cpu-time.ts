import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** The unit of CPU time in Linux's /proc. */
const TICKS_PER_SECOND = 100;

/** Whether this system has the CPU times of other processes in /proc. */
export const HAS_CPU_TIMES = existsSync('/proc/self/stat');

interface ProcessTimes {
  readonly parentPid: number;
  /** The time of the process and of its children that have ended. */
  readonly ticks: number;
}

function readTimes(): Map<number, ProcessTimes> {
  const times = new Map<number, ProcessTimes>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The fields after the process's name, which may contain blanks: its state, its parent, …
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      times.set(Number(name), { parentPid: Number(fields[1]), ticks });
    } catch {
      // It ended between the listing and this read; its time counts for its parent.
    }
  }
  return times;
}

/**
 * CPU milliseconds so far of each process with its descendants: PostgreSQL has a process for each
 * connection. All 0 on a system without /proc.
 */
export function cpuMsOf<Kind extends string>(pids: Record<Kind, number>): Record<Kind, number> {
  const times = HAS_CPU_TIMES ? readTimes() : new Map<number, ProcessTimes>();
  const ticksOf = (pid: number): number => {
    const children = [...times].filter(([, { parentPid }]) => parentPid === pid);
    const own = times.get(pid)?.ticks ?? 0;
    return children.reduce((sum, [child]) => sum + ticksOf(child), own);
  };
  const entries = Object.entries<number>(pids).map(
    ([kind, pid]) => [kind, (ticksOf(pid) * 1000) / TICKS_PER_SECOND] as const,
  );
  return Object.fromEntries(entries) as Record<Kind, number>;
}

/** CPU milliseconds so far of everything on this machine. 0 on a system without /proc. */
export function machineCpuMs(): number {
  if (!HAS_CPU_TIMES) return 0;
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  // cpu, user, nice, system, idle, iowait, irq, softirq, steal, …
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = ticks;
  return ((user + nice + system + irq + softIrq + steal) * 1000) / TICKS_PER_SECOND;
}
