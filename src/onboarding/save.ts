import type { BankForm, BusinessForm } from './details.ts';
import { readBankForm, readBusinessForm } from './details.ts';
import type { OnboardingDeps } from './edit.ts';
import { applyEdit, readEditable, refuseEdit } from './edit.ts';

/** What a sealed bank account number belongs to. */
export const accountNumberContext = (merchantId: string) => [merchantId, 'account_number'];

/**
 * Saves the business step of a draft.
 *
 * @throws ValidationError with one sentence for each field that is wrong
 * @throws DomainError `INVALID_STATE` when the application may not be edited, `NOT_FOUND`
 */
export async function saveBusiness(
  deps: OnboardingDeps,
  merchantId: string,
  form: BusinessForm,
): Promise<void> {
  const { sql } = deps;
  const details = readBusinessForm(form);
  const application = await readEditable(sql, merchantId);
  const write = sql`
    INSERT INTO merchant_applications (merchant_id, legal_name, business_kind, pan, gstin, phone,
      street, city, region, pin_code)
    SELECT merchant_id, ${details.legalName}, ${details.businessKind}, ${details.pan},
      ${details.gstin}, ${details.phone}, ${details.street}, ${details.city}, ${details.region},
      ${details.pinCode}
    FROM edited
    ON CONFLICT (merchant_id) DO UPDATE SET ${sql({ ...details })}
    RETURNING 1`;
  const edit = { write, action: 'application.save', details: { step: 'business' } } as const;
  if (!(await applyEdit(deps, application, edit))) return refuseEdit(sql, merchantId);
}

/**
 * Saves the bank step of a draft. A blank account number keeps the one that is stored.
 *
 * @throws ValidationError with one sentence for each field that is wrong
 * @throws DomainError `INVALID_STATE` when the application may not be edited, `NOT_FOUND`
 */
export async function saveBank(
  deps: OnboardingDeps,
  merchantId: string,
  form: BankForm,
): Promise<void> {
  const { sql, dataBox } = deps;
  const { accountHolder, accountNumber, ifsc } = readBankForm(form);
  const application = await readEditable(sql, merchantId);
  const sealed = accountNumber && dataBox.seal(accountNumber, accountNumberContext(merchantId));
  const write = sql`
    INSERT INTO merchant_applications AS a
      (merchant_id, account_holder, ifsc, account_number_sealed, account_last_four, account_number_at)
    SELECT merchant_id, ${accountHolder}, ${ifsc}, ${sealed}, ${accountNumber?.slice(-4) ?? null},
      CASE WHEN ${sealed !== null} THEN service_now() END
    FROM edited
    ON CONFLICT (merchant_id) DO UPDATE SET
      account_holder = excluded.account_holder, ifsc = excluded.ifsc,
      account_number_sealed = coalesce(excluded.account_number_sealed, a.account_number_sealed),
      account_last_four = coalesce(excluded.account_last_four, a.account_last_four),
      account_number_at = coalesce(excluded.account_number_at, a.account_number_at)
    RETURNING 1`;
  const details = { step: 'bank', isNewAccountNumber: accountNumber !== null };
  const edit = { write, action: 'application.save', details } as const;
  if (!(await applyEdit(deps, application, edit))) return refuseEdit(sql, merchantId);
}
