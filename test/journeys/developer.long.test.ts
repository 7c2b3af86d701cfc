import { developer } from './developer.ts';
import { othersThan, QUICK } from './variants.ts';

developer(othersThan(QUICK.developer));
