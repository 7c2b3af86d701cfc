import { until } from './until.ts';

const IS_MOVING = 'Another process is moving the money';

/**
 * Settles an order whose money the service tries to move again and again: repeats the settlement while it
 * is refused because of such a try.
 */
export const whenMoneyIsFree = <Result>(settle: () => Promise<Result>): Promise<Result> =>
  until(async () => {
    try {
      return { result: await settle() };
    } catch (error) {
      if (error instanceof Error && error.message.startsWith(IS_MOVING)) return undefined;
      throw error;
    }
  }).then((settled) => settled!.result);
