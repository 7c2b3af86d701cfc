import { buyer } from './buyer.ts';
import { QUICK } from './variants.ts';

buyer([QUICK.buyer]);
