import type { Readable } from 'node:stream';
import type { LineTotal, MoneyOwner, StatementPage } from '../../ledger/public.ts';

/** What the pages of a merchant's money call. Days are those of India. */
export interface MoneyPagesDeps {
  /** @throws DomainError `NOT_FOUND` for a day that has not begun */
  readStatement(
    owner: MoneyOwner,
    day: string,
    part: { skip: number; size: number },
  ): Promise<StatementPage>;
  readTotals(owner: MoneyOwner, day: string): Promise<LineTotal[]>;
  statementCsv(owner: MoneyOwner, day: string): Promise<Readable>;
}
