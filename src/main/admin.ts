import { inheritedEnvironment } from '../settings.ts';
import { adminMain } from './admin/run.ts';

/** The admin command line, with the settings of this process's environment. */
await adminMain(inheritedEnvironment);
