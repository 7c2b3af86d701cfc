import { inheritedEnvironment } from '../settings.ts';
import { adminMain } from './admin/main.ts';

/** The operators' command line, with the settings of this process. */
await adminMain(inheritedEnvironment);
