import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from '../../src/setup-error.ts';
import { endedError, followErrors } from './errors-in-log.ts';
import type { Guard } from './guard.ts';
import { signalTree } from './process-table.ts';
import type { ServerProcess } from './server-process.ts';

/** What differs from the usual start of an API or a worker; for the servers it has no effect. */
export interface StartChanges {
  /** Added to its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of the checkout whose code it runs. */
  readonly repository?: string;
}

/** How to run a member. */
export interface MemberPlan<Name extends string = string> {
  readonly name: Name;
  readonly logFile: string;
  /** What happens when its process ends by itself: the run ends, or it is started again. */
  readonly whenItEnds: 'the run ends' | 'start again';
  /** Whether the errors that it logs are also shown in the terminal. */
  readonly showErrors?: boolean;
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
  /** Whether the process, which was ready, responds now; without it, it does. */
  readonly responds?: () => Promise<boolean>;
}

/** What the members of a run share. */
export interface MemberContext {
  /** Ends the processes when this process is killed. */
  readonly guard: Guard;
  readonly log: (line: string) => void;
  /** Receives each process before it is ready. */
  readonly onSpawn: (process: ServerProcess) => void;
  /** Called when a member ends with which the run ends. */
  readonly onEnd: (error: Error) => void;
}

/** The waits before the restarts of a member that does not stay ready. */
const BACK_OFF_MS = [0, 250, 500, 1000, 2000, 5000] as const;

/** A member that was ready for this long is restarted immediately. */
const STEADY_MS = 30_000;

const POLL_MS = 25;

/** A process of a run: it runs from its start on. */
export class Member<Name extends string = string> {
  readonly #plan: MemberPlan<Name>;
  readonly #context: MemberContext;
  #wanted = false;
  #stopping = new AbortController();
  #supervision = Promise.resolve();
  #current: ServerProcess | undefined;
  #readyAt: number | undefined;
  /** Why it has ended for good. */
  #failure: Error | undefined;
  /** The children of a process that has been stopped by SIGSTOP. */
  #frozen: readonly number[] = [];
  #restarts = 0;

  constructor(plan: MemberPlan<Name>, context: MemberContext) {
    this.#plan = plan;
    this.#context = context;
  }

  get name(): Name {
    return this.#plan.name;
  }

  get logFile(): string {
    return this.#plan.logFile;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#current?.pid;
  }

  /** How often it was started again after it had ended by itself. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Signals the whole process tree, as PostgreSQL's backends; does nothing while it does not run. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#current === undefined) return;
    if (signal === 'SIGKILL') this.#readyAt = undefined;
    const tree = signalTree(this.#current.pid, signal);
    this.#forgetFrozen();
    if (signal !== 'SIGSTOP') return;
    // Frozen children do not notice that their parent has been killed with this process.
    this.#frozen = tree.slice(1);
    for (const pid of this.#frozen) this.#context.guard.watch(pid, 'SIGKILL');
  }

  /**
   * Starts it after a stop and waits until it is ready. The changes hold until the next call.
   *
   * @throws SetupError when it was not stopped, or is stopped before it is ready
   */
  async start(changes: StartChanges = {}): Promise<void> {
    if (this.#wanted) throw new SetupError(`${this.name} runs already: stop it first`);
    this.#wanted = true;
    await this.#supervision;
    this.#stopping = new AbortController();
    this.#supervision = this.#supervise(changes);
    await this.untilReady();
  }

  /** Stops it until `start`. */
  async stop(): Promise<void> {
    this.#wanted = false;
    this.#stopping.abort();
    if (this.#current !== undefined) signalTree(this.#current.pid, 'SIGCONT');
    await this.#current?.stop();
    await this.#supervision;
  }

  /** Waits until it responds. @throws SetupError when it is stopped or ends for good instead */
  async untilReady(): Promise<void> {
    const { responds = async () => true } = this.#plan;
    while (this.#readyAt === undefined || !(await responds())) {
      if (this.#failure !== undefined) throw this.#failure;
      if (!this.#wanted) throw new SetupError(`${this.name} is stopped; its log: ${this.logFile}`);
      await delay(POLL_MS);
    }
  }

  /** Runs the process, again and again if that is the plan, until the member is stopped. */
  async #supervise(changes: StartChanges): Promise<void> {
    const { whenItEnds } = this.#plan;
    let failures = 0;
    while (this.#wanted) {
      const { error, readyMs } = await this.#runOnce(changes);
      if (!this.#wanted) return;
      if (whenItEnds === 'the run ends') {
        this.#failure = error;
        return this.#context.onEnd(error);
      }
      if (readyMs >= STEADY_MS) failures = 0;
      await this.#pause(error, failures);
      failures += 1;
    }
  }

  async #pause(cause: Error, failures: number): Promise<void> {
    const waitMs = BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)];
    this.#context.log(`${cause.message}\n${this.name} is started again in ${waitMs} ms`);
    const { signal } = this.#stopping;
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
    this.#restarts += 1;
  }

  /** Runs the process once. @returns why it ended, and for how long it was ready */
  async #runOnce(changes: StartChanges): Promise<{ error: Error; readyMs: number }> {
    let readyAt: number | undefined;
    let error: Error;
    try {
      await this.#plan.launch(changes, (spawned) => this.#adopt(spawned));
      this.#readyAt = readyAt = Date.now();
      const exit = (await this.#current?.exited) ?? { code: null, signal: null };
      error = endedError(this.name, this.logFile, exit);
    } catch (thrown) {
      error = thrown as Error;
    }
    this.#current = undefined;
    this.#readyAt = undefined;
    this.#forgetFrozen();
    return { error, readyMs: readyAt === undefined ? 0 : Date.now() - readyAt };
  }

  #adopt(spawned: ServerProcess): void {
    const { showErrors = false, name, logFile } = this.#plan;
    const { log, onSpawn } = this.#context;
    this.#current = spawned;
    onSpawn(spawned);
    if (!this.#wanted) void spawned.stop();
    if (!showErrors) return;
    const stopFollowing = followErrors(name, logFile, log);
    void spawned.exited.then(stopFollowing);
  }

  #forgetFrozen(): void {
    for (const pid of this.#frozen) this.#context.guard.unwatch(pid);
    this.#frozen = [];
  }
}
