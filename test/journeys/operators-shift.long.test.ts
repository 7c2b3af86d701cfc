import { operatorsShift } from './operators-shift.ts';
import { othersThan, QUICK } from './variants.ts';

operatorsShift(othersThan(QUICK.operatorsShift));
