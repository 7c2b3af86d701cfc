import { merchantsDay } from './merchants-day.ts';
import { QUICK } from './variants.ts';

merchantsDay([QUICK.merchantsDay]);
