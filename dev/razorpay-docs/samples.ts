/** A JSON block of a page of Razorpay's documents. */
export interface Sample {
  /** Its number among the JSON blocks of the page, from 1. */
  number: number;
  text: string;
}

/** The fence of a code block, with its language; without it where it only ends one. */
const FENCE = /^\s*```(.*)$/;

/** The JSON blocks of a page. The documents often leave out the end of a block before the next one. */
export function jsonSamples(page: string): Sample[] {
  const samples: Sample[] = [];
  let open: Sample | undefined;
  for (const line of page.split('\n')) {
    const fence = FENCE.exec(line);
    if (fence === null) {
      if (open) open.text += `${line}\n`;
      continue;
    }
    const isJson = /^json\b/i.test(fence[1]?.trim() ?? '');
    open = isJson ? { number: samples.length + 1, text: '' } : undefined;
    if (open) samples.push(open);
  }
  return samples;
}
