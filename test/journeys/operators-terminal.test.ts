import { operatorsTerminal } from './operators-terminal.ts';
import { QUICK } from './variants.ts';

operatorsTerminal([QUICK.operatorsTerminal]);
