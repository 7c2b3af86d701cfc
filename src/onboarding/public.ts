/** What the dashboard and the command line may use of the onboarding. */
export type {
  Application,
  ApplicationState,
  BankDetails,
  BusinessDetails,
  DocumentFacts,
  DocumentKind,
  Step,
} from './application.ts';
export { DOCUMENT_KINDS, isComplete, mayEdit, missingOf, versionOf } from './application.ts';
export type { ApplicationChange } from './changes.ts';
export { changesSince } from './changes.ts';
export type { BankForm, BusinessForm } from './details.ts';
export { REGIONS } from './details.ts';
export type { OpenedDocument, Upload } from './documents.ts';
export {
  addDocument,
  documentContext,
  MAX_DOCUMENTS,
  openDocument,
  removeDocument,
} from './documents.ts';
export type { OnboardingDeps } from './edit.ts';
export type { FirstSteps } from './first-steps.ts';
export { readFirstSteps } from './first-steps.ts';
export { readApplication } from './queries.ts';
export type { ListedMerchant, MerchantSearch, PastDecision, Review } from './review-queries.ts';
export {
  listUnderReview,
  openAccountNumber,
  readReview,
  searchMerchants,
} from './review-queries.ts';
export type { Decision, ReviewDeps } from './review.ts';
export { assertDecisionFits, decideMerchant, decisionsOf } from './review.ts';
export { accountNumberContext, saveBank, saveBusiness } from './save.ts';
export { submitApplication } from './submit.ts';
