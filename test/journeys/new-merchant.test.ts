import { newMerchant } from './new-merchant.ts';
import { QUICK } from './variants.ts';

await newMerchant([QUICK.newMerchant]);
