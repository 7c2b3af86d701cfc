import type { CommandOptions, ValuesOf } from '../../src/main/process/command-line.ts';

/** A measured quantity, with a value for each round. */
export interface Measurement {
  /** Names it in targets; unique in its benchmark. */
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly rounds: readonly number[];
}

/** The bound that the median of a measurement must keep. */
export interface Target {
  readonly of: string;
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Outcome {
  readonly measurements: readonly Measurement[];
  readonly targets?: readonly Target[];
  /** What a reader must know to understand the figures, in whole sentences. */
  readonly notes?: readonly string[];
  /** What went wrong without ending the benchmark, such as a response other than 2xx. */
  readonly failures?: readonly string[];
}

export interface BenchmarkOptions<Options extends CommandOptions = CommandOptions> {
  /** Smaller numbers, to try the benchmark; its figures are not for documents. */
  readonly quick: boolean;
  /** The benchmark's own options; one that was not given is undefined. */
  readonly values: ValuesOf<Options>;
}

/** A benchmark: a file of `bench` exports one. It starts what it needs, and removes it. */
export interface Benchmark<Options extends CommandOptions = CommandOptions> {
  readonly description: string;
  /** Its own options: flags, and those that take a value and have none by default. */
  readonly options?: Options;
  run(options: BenchmarkOptions<Options>): Promise<Outcome>;
}
