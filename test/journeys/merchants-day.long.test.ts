import { merchantsDay } from './merchants-day.ts';
import { othersThan, QUICK } from './variants.ts';

merchantsDay(othersThan(QUICK.merchantsDay));
