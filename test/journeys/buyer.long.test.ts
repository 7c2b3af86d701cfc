import { buyer } from './buyer.ts';
import { othersThan, QUICK } from './variants.ts';

buyer(othersThan(QUICK.buyer));
