import { newMerchant } from './new-merchant.ts';
import { othersThan, QUICK } from './variants.ts';

await newMerchant(othersThan(QUICK.newMerchant));
