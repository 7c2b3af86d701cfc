import type { Step } from '../../src/domain/index.ts';

interface Recorded {
  step?: Step;
}

/**
 * The steps in a workflow's history, each once, by number: those in the results of activities, local and
 * others, and in the result of the workflow. The first step is not among them.
 */
export function recordedSteps(history: object): Step[] {
  const steps = new Map<number, Step>();
  JSON.stringify(history, (key, value: unknown) => {
    if (key !== 'data' || typeof value !== 'string') return value;
    const text = Buffer.from(value, 'base64').toString();
    const result = (text.startsWith('{') ? JSON.parse(text) : {}) as {
      recorded?: Recorded | Recorded[];
      steps?: Recorded[];
      run?: { steps: Recorded[] };
    };
    const found = [result.recorded, result.steps, result.run?.steps].flat();
    for (const { step } of found.filter((one) => one !== undefined)) {
      if (step && step.number > 1) steps.set(step.number, step);
    }
    return value;
  });
  return [...steps.values()].toSorted((a, b) => a.number - b.number);
}
