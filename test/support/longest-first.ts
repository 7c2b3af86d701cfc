import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take much longer than others of their size: a browser or many processes run in them. */
const LONG =
  /\/(journeys\/|repository\/commands|checkout\/every-state|dashboard\/hostile-input|.*browser|.*accessibility)/;

/** Starts long files first, so that none of them is alone at the end of a run. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { long = [], short = [] } = Object.groupBy(sorted, ({ moduleId }) =>
      LONG.test(moduleId) ? 'long' : 'short',
    );
    return [...long, ...short];
  }
}
