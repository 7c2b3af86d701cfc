import {
  hostileTest,
  MORE,
  QUERY_NAMES,
  valuesDoNoHarm,
  yearZeroDoesNoHarm,
} from './hostile-input.ts';

const test = hostileTest();

valuesDoNoHarm(test, MORE);
yearZeroDoesNoHarm(test, QUERY_NAMES);
