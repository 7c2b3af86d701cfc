import { SetupError } from '../../src/setup-error.ts';
import { endedError } from './errors-in-log.ts';
import { startGuard, type Guard } from './guard.ts';
import { Member, type MemberPlan } from './member.ts';
import { sendSignal } from './process-table.ts';
import { describeExit } from './process-exit.ts';
import type { ServerProcess } from './server-process.ts';

export type { Member, MemberPlan, StartChanges } from './member.ts';

/** A process that is run to its end. */
export interface Task {
  readonly name: string;
  readonly logFile: string;
  readonly launch: () => Promise<ServerProcess>;
}

/** The processes of a run, which end together, also when this process is killed. */
export class Supervisor<Name extends string = string> {
  readonly guard: Guard;
  /** Rejects with a {@link SetupError} when a process ends with which the run ends. */
  readonly ended: Promise<never>;
  readonly #log: (line: string) => void;
  readonly #end = Promise.withResolvers<never>();
  readonly #stopping = new AbortController();
  readonly #members = new Map<Name, Member<Name>>();
  readonly #running = new Set<ServerProcess>();
  readonly #steps: (() => Promise<void>)[] = [];
  #stopped: Promise<void> | undefined;

  constructor(guard: Guard, log: (line: string) => void) {
    this.guard = guard;
    this.#log = log;
    this.ended = this.#end.promise;
    this.ended.catch(() => undefined); // Not an unhandled rejection before it is awaited.
    void guard.exited.then((exit) =>
      this.#fail(new SetupError(`The guard of the run ended (${describeExit(exit)})`)),
    );
  }

  /** Aborted when the run begins to stop. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** In the order of their start. */
  get members(): readonly Member<Name>[] {
    return [...this.#members.values()];
  }

  /** @throws Error when there is no such member */
  member(name: Name): Member<Name> {
    const found = this.#members.get(name);
    if (found === undefined) throw new Error(`There is no member ${name}`);
    return found;
  }

  /** Starts members together, which also stop together, and waits until each of them is ready. */
  async start(plans: readonly MemberPlan<Name>[]): Promise<void> {
    this.signal.throwIfAborted();
    const context = {
      guard: this.guard,
      log: this.#log,
      onSpawn: (spawned: ServerProcess) => this.#adopt(spawned),
      onEnd: (error: Error) => this.#fail(error),
    };
    const started = plans.map((plan) => new Member(plan, context));
    for (const member of started) this.#members.set(member.name, member);
    await this.defer(async () => {
      await Promise.all(started.map((member) => member.stop()));
    });
    await Promise.all(started.map((member) => member.start()));
  }

  /** Runs a process to its end. @throws SetupError when it fails */
  async runTask({ name, logFile, launch }: Task): Promise<void> {
    this.signal.throwIfAborted();
    const launched = launch();
    await this.defer(async () => (await launched.catch(() => undefined))?.stop());
    const task = await launched;
    this.#adopt(task);
    const exit = await task.exited;
    if (exit.code !== 0) throw endedError(name, logFile, exit);
  }

  /**
   * Adds a step to the stop.
   *
   * @throws SetupError after it has done the step when the run already stops
   */
  async defer(step: () => Promise<void>): Promise<void> {
    if (!this.signal.aborted) {
      this.#steps.push(step);
      return;
    }
    await step();
    this.signal.throwIfAborted();
  }

  /** Stops everything, what was started last first. Further calls wait for the first. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stopAll());
  }

  /** Kills all processes immediately. */
  kill(): void {
    void this.stop();
    for (const { pid } of this.#running) sendSignal(pid, 'SIGKILL');
  }

  async #stopAll(): Promise<void> {
    this.#stopping.abort(new SetupError('Stopping'));
    const failures: unknown[] = [];
    for (const step of this.#steps.toReversed()) {
      await step().catch((error: unknown) => failures.push(error));
    }
    await this.guard.release();
    if (failures.length > 0) throw new AggregateError(failures, 'Not everything was stopped');
  }

  #fail(error: Error): void {
    if (!this.signal.aborted) this.#end.reject(error);
  }

  #adopt(spawned: ServerProcess): void {
    this.#running.add(spawned);
    void spawned.exited.then(() => this.#running.delete(spawned));
    if (this.signal.aborted) void spawned.stop();
  }
}

/** Creates a supervisor without processes. @param log receives a line at each restart */
export async function createSupervisor<Name extends string = string>(
  log: (line: string) => void,
): Promise<Supervisor<Name>> {
  return new Supervisor<Name>(await startGuard(), log);
}
