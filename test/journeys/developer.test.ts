import { developer } from './developer.ts';
import { QUICK } from './variants.ts';

developer([QUICK.developer]);
