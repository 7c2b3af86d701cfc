import { loadConfig } from '../config.ts';
import { runMain } from './process/process.ts';
import { logTemporalTo } from './process/temporal-logger.ts';
import { buildWorkflowBundle } from './worker/workflow-bundle.ts';

/** Writes the workflow bundle of this checkout to WORKFLOW_BUNDLE, or to `build/workflows.json`. */
await runMain(
  {
    name: 'build-workflows',
    does: 'Writes the bundle of the workflows to WORKFLOW_BUNDLE, or to build/workflows.json.',
    load: loadConfig,
  },
  async (config, log) => {
    const file = config.workflowBundle ?? 'build/workflows.json';
    await buildWorkflowBundle(file, logTemporalTo(log));
    log.info({ file }, 'The workflows are bundled');
  },
);
