import type { OnboardingDeps } from '../../src/onboarding/public.ts';
import { addDocument } from '../../src/onboarding/public.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { aSignedUpMerchant, complete, PNG, submit } from '../support/applications.ts';
import { reconcile } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import type { TestService } from '../support/service.ts';
import { codeOf, operatorUser, PASSWORD, TOTP_SECRET } from '../support/users.ts';
import { journeyTest } from './journey-test.ts';
import type { Person } from './person.ts';
import { refusedRefund } from './refused-refund.ts';
import type { Variant } from './variants.ts';

export function operatorsShift(variants: readonly Variant[]): void {
  const test = journeyTest();

  test.for(variants)(
    'an operator removes the cause of an alert, decides a dispute, reviews a merchant and reads the audit list: $title',
    async (variant, { service, merchant, newPerson }) => {
      const { order: refused, allowRefund } = await refusedRefund(service, merchant);
      const disputed = await disputedOrder(merchant);
      const applicant = await anApplicant(service);
      const { email } = await operatorUser(service.sql, 'admin');
      const colleague = await newPerson(variant, await operatorUser(service.sql, 'admin'));
      const operator = await newPerson(variant);
      await logIn(operator, email);
      await allowRefund();
      await retryRefund(operator, refused);
      await merchant.sandbox.untilStatus(refused, 'REFUNDED');
      await reconcile(service);
      await seesAlertEnded(operator, refused);
      await decide(operator, disputed);
      await approve([operator, colleague], applicant);
      await readAudit(operator, email, { refused, disputed });
      await operator.logOut();
      await operator.sees('Log in');
    },
  );
}

async function disputedOrder({ sandbox }: Merchant): Promise<Order> {
  const order = await sandbox.create();
  await sandbox.help(order, 'pay');
  await sandbox.help(order, 'dispute', { reason: 'It never came to me' });
  await sandbox.command(order, 'dispute/evidence', { text: 'Signed for on Monday' });
  return order;
}

/** @returns the id of a merchant whose application waits, with a picture among its documents */
async function anApplicant({ sql }: TestService): Promise<string> {
  const deps: OnboardingDeps = { sql, dataBox: createSecretBox(SECRET_KEYS), actor: TEST_ACTOR };
  const merchantId = await aSignedUpMerchant(deps);
  await complete(deps, merchantId);
  await addDocument(deps, merchantId, {
    kind: 'identity',
    fileName: 'passport.png',
    content: PNG,
  });
  await submit(deps, merchantId);
  return merchantId;
}

async function logIn(operator: Person, email: string): Promise<void> {
  await operator.page.goto('/operator');
  await operator.sees('Log in');
  await operator.types({ 'E-mail': email, Password: PASSWORD });
  await operator.press('Log in');
  await operator.sees('Two-factor code');
  await operator.types({ Code: codeOf(TOTP_SECRET) });
  await operator.press('Log in');
  await operator.sees('Work queue');
}

const alertOf = ({ page }: Person, { order_number: number }: Order) =>
  page.getByRole('listitem').filter({ has: page.getByTitle(number) });

/** Follows the alert to the action that removes its cause. */
async function retryRefund(operator: Person, order: Order): Promise<void> {
  await operator.follow('Retry now…', alertOf(operator, order));
  await operator.sees('Retry now');
  await operator.types({ Reason: 'The bank takes refunds of it again' });
  await operator.press('Retry the call to the gateway now');
  await operator.reads('The call to the gateway is being retried.');
}

async function seesAlertEnded(operator: Person, order: Order): Promise<void> {
  await operator.goTo('Alerts');
  await operator.sees('Alerts');
  await operator.follow('Cleared alerts');
  await operator.sees('Alerts');
  await alertOf(operator, order).getByText('Cleared by the service').waitFor();
}

async function decide(operator: Person, { order_number: number }: Order): Promise<void> {
  const { page } = operator;
  await operator.goTo('Disputes');
  await operator.sees('Disputes');
  await page.getByTitle(number).click();
  await operator.sees(`Dispute of ${number}`);
  await page.getByText('It never came to me').first().waitFor();
  await page.getByText('Signed for on Monday').first().waitFor();
  await page.getByLabel('Decide for').selectOption('merchant');
  await operator.types({ Reason: 'The courier has a signature' });
  await operator.press('Continue');
  const shown = ['₹499.50', 'The courier has a signature'];
  await operator.answers(`Decide the dispute: order ${number}`, shown, 'Decide');
  await operator.reads('The dispute is decided.');
}

/** One admin reviews the merchant and proposes the approval; another one approves it. */
async function approve(
  [operator, colleague]: readonly [Person, Person],
  merchantId: string,
): Promise<void> {
  const { page } = operator;
  await operator.goTo('Merchants');
  await operator.sees('Merchants');
  const waiting = page.getByRole('region', { name: 'Waiting for a decision' });
  await waiting.locator(`a[href$="${merchantId}"]`).click();
  await operator.sees('Asha Textiles');
  await page.getByRole('img', { name: 'Proof of identity: passport.png' }).waitFor();
  const downloading = page.waitForEvent('download');
  await operator.follow('bank.pdf');
  await downloading;
  await operator.types({ Reason: 'All documents fit' });
  await operator.press('Propose to approve');
  await operator.reads('Another operator has to approve it within 24 hours.');
  await colleague.page.goto('/operator/proposals');
  await colleague.sees('Proposals');
  await colleague.follow(
    'Approve a merchant',
    colleague.page.getByRole('region', { name: 'Open' }),
  );
  await colleague.sees('Approve a merchant');
  await colleague.press('Approve');
  await colleague.reads('It is approved and carried out.');
}

async function readAudit(
  operator: Person,
  email: string,
  { refused, disputed }: Record<'refused' | 'disputed', Order>,
): Promise<void> {
  const { page } = operator;
  await operator.goTo('Audit');
  await operator.sees('Audit');
  await operator.types({ 'Who (optional)': email });
  await operator.press('Show');
  await page.waitForURL('**/audit?*');
  await operator.sees('Audit');
  const deeds = { 'Repeated the call to the gateway': refused, 'Decided the dispute': disputed };
  for (const [deed, { order_number: number }] of Object.entries(deeds)) {
    const row = page.getByRole('row').filter({ hasText: email }).filter({ hasText: deed });
    await row.filter({ has: page.getByTitle(number) }).waitFor();
  }
  await page.getByRole('row').filter({ hasText: 'Proposed' }).first().waitFor();
}
