import { z } from 'zod';
import type { Route } from '../../http/define-route.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import type { Application } from '../../onboarding/public.ts';
import { mayEdit, readApplication, saveBank, saveBusiness } from '../../onboarding/public.ts';
import type { PageContext } from '../context.ts';
import { noticed } from '../noticed.ts';
import { definePage } from '../page.ts';
import type { PageReply } from '../reply.ts';
import type { FormState } from '../view/fields.ts';
import { submit } from '../view/fields.ts';
import { notice, section } from '../view/parts.ts';
import { form } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import type { OnboardingPageDeps } from './deps.ts';
import { pathOf } from './deps.ts';
import { bankFields, businessFields } from './detail-fields.ts';
import type { ShownStep } from './parts.ts';
import { applicationSteps, stepPath } from './parts.ts';

/** A step with one form: how it looks, what it saves, and which step follows. */
interface DetailStep {
  step: 'business' | 'bank';
  next: ShownStep;
  title: string;
  lead: string;
  fields: z.ZodObject;
  formOf(application: Application, state: FormState): ReturnType<typeof businessFields>;
  valuesOf(application: Application): Record<string, string | null>;
  save: typeof saveBusiness | typeof saveBank;
}

const typed = z.string().default('');

const BUSINESS: DetailStep = {
  step: 'business',
  next: 'bank',
  title: 'Your business',
  lead: 'As it is registered. You can save what you have and continue later.',
  fields: z.object({
    legalName: typed,
    businessKind: typed,
    pan: typed,
    gstin: typed,
    phone: typed,
    street: typed,
    city: typed,
    region: typed,
    pinCode: typed,
  }),
  formOf: (_, state) => businessFields(state),
  valuesOf: ({ business }) => ({ ...business }),
  save: saveBusiness,
};

const BANK: DetailStep = {
  step: 'bank',
  next: 'documents',
  title: 'Your bank account',
  lead: 'Where the money of your orders is paid out. The number is stored encrypted.',
  fields: z.object({
    accountHolder: typed,
    accountNumber: typed,
    accountNumberAgain: typed,
    ifsc: typed,
  }),
  formOf: bankFields,
  valuesOf: ({ bank: { accountHolder, ifsc } }) => ({ accountHolder, ifsc }),
  save: saveBank,
};

/** The pages of the steps in which the merchant types: business and bank account. */
export function detailPages(context: PageContext, deps: OnboardingPageDeps): Route[] {
  return [BUSINESS, BANK].flatMap((step) => [
    ...showStep(context, deps, step),
    ...saveStep(context, deps, step),
  ]);
}

function showStep(context: PageContext, deps: OnboardingPageDeps, step: DetailStep): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'GET',
    path: `/onboarding/${step.step}`,
    asksFirst: true,
  }).handledBy(async ({ viewer }) => {
    const application = await readApplication(deps.sql, viewer.merchantId);
    if (!mayEdit(application.state)) return { seeOther: pathOf(viewer) };
    const values = withoutNulls(step.valuesOf(application));
    return stepReply(viewer, application, step, { values });
  });
}

const withoutNulls = (values: Record<string, string | null>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? '']));

function saveStep(context: PageContext, deps: OnboardingPageDeps, step: DetailStep): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'POST',
    path: `/onboarding/${step.step}`,
    body: step.fields,
  }).handledBy(async (request) => {
    const { viewer, actor, body } = request;
    const values = body as Record<string, string>;
    try {
      await noticed(deps, request, { kind: 'application.bank' }, (alongside) =>
        step.save({ ...deps, actor, alongside }, viewer.merchantId, values),
      );
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      const application = await readApplication(deps.sql, viewer.merchantId);
      const violations = error.validationErrors;
      return { ...stepReply(viewer, application, step, { values, violations }), status: 400 };
    }
    return { seeOther: stepPath(viewer, step.next) };
  });
}

function stepReply(
  viewer: MerchantViewer,
  application: Application,
  { step, title, lead, formOf }: DetailStep,
  state: FormState,
): Extract<PageReply, { view: unknown }> {
  return {
    view: {
      title,
      content: [
        applicationSteps(viewer, application, step),
        state.violations &&
          notice('bad', 'This was not saved. See what is wrong at each field.', 'alert'),
        section(
          'form',
          lead,
          form(
            stepPath(viewer, step),
            { 'aria-label': title },
            ...formOf(application, state),
            submit('Save and continue'),
          ),
        ),
      ],
    },
  };
}
