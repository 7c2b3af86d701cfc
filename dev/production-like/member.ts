import { setTimeout as delay } from 'node:timers/promises';
import type { Guard } from '../processes/guard.ts';
import { signalTree } from '../processes/process-table.ts';
import { describeExit, type ServerProcess } from '../processes/server-process.ts';
import { SetupError } from '../../src/setup-error.ts';

/** A process of the production-like shape. */
export type MemberName =
  | 'postgres'
  | 'temporal'
  | 'temporal-ui'
  | 'gateway-simulator'
  | 'mailbox'
  | `api-${number}`
  | `worker-${number}`;

/** What differs from the usual start of an API or a worker; for the servers it has no effect. */
export interface StartChanges {
  /** Added to its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of the checkout whose code it runs. */
  readonly repository?: string;
}

/** A process that the supervisor starts again when it ends. */
export interface Member {
  readonly name: MemberName;
  readonly logFile: string;
  /** Undefined while it does not run. */
  readonly pid: number | undefined;
  /** How often the supervisor has started it again. */
  readonly restarts: number;
  /** Signals the whole process tree, as PostgreSQL's backends; does nothing while it does not run. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Stops it until `start`. */
  stop(): Promise<void>;
  /**
   * Starts it after a stop and waits until it is ready. The changes hold until the next call.
   *
   * @throws SetupError when it was not stopped, or is stopped before it is ready
   */
  start(changes?: StartChanges): Promise<void>;
  /** Waits until it responds. @throws SetupError when it is stopped instead */
  untilReady(): Promise<void>;
}

/** How to run a member. */
export interface MemberPlan {
  readonly name: MemberName;
  readonly logFile: string;
  /**
   * Starts the process and waits until it is ready.
   *
   * @param onSpawn receives the process before it is ready
   * @throws Error when it ends or cannot be started
   */
  readonly launch: (
    changes: StartChanges,
    onSpawn: (process: ServerProcess) => void,
  ) => Promise<unknown>;
  /** Whether the process, which was ready, responds now. */
  readonly responds: () => Promise<boolean>;
}

/** What members share. */
interface MemberContext {
  /** Ends the processes when this process is killed. */
  readonly guard: Guard;
  readonly log: (line: string) => void;
}

/** The waits before the restarts of a member that does not stay ready. */
const BACK_OFF_MS = [0, 250, 500, 1000, 2000, 5000] as const;

/** A member that was ready for this long is restarted immediately. */
const STEADY_MS = 30_000;

const POLL_MS = 25;

/** The state of a member. */
class SupervisedMember implements Member {
  readonly #plan: MemberPlan;
  readonly #guard: Guard;
  readonly #log: (line: string) => void;
  #wanted = false;
  #stopping = new AbortController();
  #supervision = Promise.resolve();
  #current: ServerProcess | undefined;
  #readyAt: number | undefined;
  /** The children of a process that has been stopped by SIGSTOP. */
  #frozen: readonly number[] = [];
  #restarts = 0;

  constructor(plan: MemberPlan, { guard, log }: MemberContext) {
    this.#plan = plan;
    this.#guard = guard;
    this.#log = log;
  }

  get name(): MemberName {
    return this.#plan.name;
  }

  get logFile(): string {
    return this.#plan.logFile;
  }

  get pid(): number | undefined {
    return this.#current?.pid;
  }

  get restarts(): number {
    return this.#restarts;
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#current === undefined) return;
    if (signal === 'SIGKILL') this.#readyAt = undefined;
    const tree = signalTree(this.#current.pid, signal);
    this.#forgetFrozen();
    if (signal !== 'SIGSTOP') return;
    // Frozen children do not notice that their parent has been killed with this process.
    this.#frozen = tree.slice(1);
    for (const pid of this.#frozen) this.#guard.watch(pid, 'SIGKILL');
  }

  async start(changes: StartChanges = {}): Promise<void> {
    if (this.#wanted) throw new SetupError(`${this.name} runs already: stop it first`);
    this.#wanted = true;
    await this.#supervision;
    this.#stopping = new AbortController();
    this.#supervision = this.#supervise(changes);
    await this.untilReady();
  }

  async stop(): Promise<void> {
    this.#wanted = false;
    this.#stopping.abort();
    if (this.#current !== undefined) signalTree(this.#current.pid, 'SIGCONT');
    await this.#current?.stop();
    await this.#supervision;
  }

  async untilReady(): Promise<void> {
    while (this.#readyAt === undefined || !(await this.#plan.responds())) {
      if (!this.#wanted) throw new SetupError(`${this.name} is stopped; its log: ${this.logFile}`);
      await delay(POLL_MS);
    }
  }

  /** Runs the process again and again until the member is stopped. */
  async #supervise(changes: StartChanges): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (this.#wanted) {
      const { reason, readyMs } = await this.#runOnce(changes);
      if (!this.#wanted) return;
      if (readyMs >= STEADY_MS) failures = 0;
      const waitMs = BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)];
      failures += 1;
      this.#log(`${this.name} ended (${reason}); it is started again in ${waitMs} ms`);
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
      this.#restarts += 1;
    }
  }

  /** Runs the process once. @returns why it ended, and for how long it was ready */
  async #runOnce(changes: StartChanges): Promise<{ reason: string; readyMs: number }> {
    let readyAt: number | undefined;
    let reason: string;
    try {
      await this.#plan.launch(changes, (spawned) => {
        this.#current = spawned;
        if (!this.#wanted) void spawned.stop();
      });
      this.#readyAt = readyAt = Date.now();
      const exit = await this.#current?.exited;
      reason = exit === undefined ? 'not started' : describeExit(exit);
    } catch (error) {
      reason = (error as Error).message;
    }
    this.#current = undefined;
    this.#readyAt = undefined;
    this.#forgetFrozen();
    return { reason, readyMs: readyAt === undefined ? 0 : Date.now() - readyAt };
  }

  #forgetFrozen(): void {
    for (const pid of this.#frozen) this.#guard.unwatch(pid);
    this.#frozen = [];
  }
}

/** Creates a member that does not run yet. */
export function createMember(plan: MemberPlan, context: MemberContext): Member {
  return new SupervisedMember(plan, context);
}
