import { operatorsTerminal } from './operators-terminal.ts';
import { othersThan, QUICK } from './variants.ts';

operatorsTerminal(
  othersThan(QUICK.operatorsTerminal).filter(({ javaScriptEnabled }) => javaScriptEnabled),
);
