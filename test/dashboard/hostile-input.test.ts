import { hostileTest, SOME, valuesDoNoHarm, yearZeroDoesNoHarm } from './hostile-input.ts';

const test = hostileTest();

valuesDoNoHarm(test, SOME);
yearZeroDoesNoHarm(test, ['since', 'until']);
