import { operatorsShift } from './operators-shift.ts';
import { QUICK } from './variants.ts';

operatorsShift([QUICK.operatorsShift]);
