import { h } from 'preact';
import { z } from 'zod';
import type { Application } from '../../onboarding/public.ts';
import {
  isComplete,
  mayEdit,
  missingOf,
  readApplication,
  submitApplication,
  versionOf,
} from '../../onboarding/public.ts';
import {
  applicationState,
  bankFacts,
  businessFacts,
  changesSection,
  documentTable,
  missingList,
  notReadyText,
  SUSPENSION_STOPS,
} from '../view/application.ts';
import { hidden, refused, submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { moment, notice, setting, written } from '../view/parts.ts';
import { form, link, pathWith } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { pathOf } from '../viewer.ts';
import { applicationSteps, onboardingPage, stepPath } from './parts.ts';

export const reviewPages = [
  onboardingPage('GET /onboarding', {
    query: z.object({ done: z.literal('submitted').optional().catch(undefined) }),
  }).handledBy(async ({ viewer, query: { done } }, deps) => {
    const application = await readApplication(deps.sql, viewer.merchantId);
    return { view: reviewView(viewer, application, done) };
  }),
  onboardingPage('POST /onboarding/submit', {
    formPath: '/onboarding',
    refusals: ['INVALID_STATE'],
    body: z.object({ version: z.string().default('') }),
  }).handledBy(async ({ viewer, actor, body: { version } }, deps) => {
    await submitApplication({ ...deps, actor }, viewer.merchantId, version);
    return { seeOther: pathWith(stepPath(viewer, 'review'), { done: 'submitted' }) };
  }),
];

function reviewView(
  viewer: MerchantViewer,
  application: Application,
  done: 'submitted' | undefined,
): View {
  const isEditable = mayEdit(application.state);
  return {
    title: 'Your business',
    hasOwnHeading: true,
    content: [
      h('h1', { class: 'named' }, 'Your business ', applicationState(application.state)),
      done && notice('good', 'Your application is submitted.', 'status'),
      refused({ end: '.' }),
      stateNotice(viewer, application),
      isEditable && applicationSteps(viewer, application, 'review'),
      isEditable && changesSection(application),
      ...detailSections(viewer, application, isEditable),
      isEditable && submitSection(viewer, application),
    ],
  };
}

function stateNotice({ environment, merchantStatus }: MerchantViewer, application: Application) {
  const { state, statusReason, submittedAt } = application;
  const reason = statusReason === null ? null : written(statusReason);
  const approved = [
    'Your business is approved. ',
    link(`/dashboard/${environment}/keys`, 'Create API keys'),
    '. To change these details, write to our support.',
  ];
  switch (state) {
    case 'draft':
      return notice(
        'plain',
        'Tell us about your business in three steps. Once we have approved it, you can create API ' +
          'keys for the sandbox and for production.',
      );
    case 'under_review':
      return notice('wait', [
        'We are checking your application. You get a mail when it is decided. ',
        submittedAt && h('span', null, 'Submitted ', moment(submittedAt), '.'),
      ]);
    case 'not_ready':
      return notice('wait', [
        h('p', null, approved),
        h('p', null, notReadyText(application.readiness)),
      ]);
    case 'approved':
      return notice('good', approved);
    case 'rejected':
      return notice('bad', [
        h('p', null, 'Your application was not approved. The reason:'),
        reason,
        // Its approval was revoked.
        merchantStatus === 'SUSPENDED' && h('p', null, SUSPENSION_STOPS),
        h('p', null, 'Change what is wrong and submit it again.'),
      ]);
    case 'suspended':
      return notice('bad', [
        h('p', null, 'Your account is suspended. The reason:'),
        reason,
        h('p', null, SUSPENSION_STOPS),
      ]);
  }
}

function detailSections(viewer: MerchantViewer, application: Application, isEditable: boolean) {
  const missing = missingOf(application);
  const edit = (step: 'business' | 'bank' | 'documents', text: string) =>
    isEditable && [
      missingList(missing[step]),
      h('p', null, link(stepPath(viewer, step), text, { class: 'button second' })),
    ];
  return [
    setting(
      'business',
      'Business',
      'Who you are, as your documents say.',
      businessFacts(application.business),
      edit('business', 'Edit the business'),
    ),
    setting(
      'bank',
      'Bank account',
      'Where your money is paid out to.',
      bankFacts(application.bank),
      edit('bank', 'Edit the account'),
    ),
    setting(
      'documents',
      'Documents',
      'What we check your application with.',
      documentTable(
        application.documents,
        ({ documentId }) => `${stepPath(viewer, 'documents')}/${documentId}`,
      ),
      edit('documents', 'Change the documents'),
    ),
  ];
}

function submitSection(viewer: MerchantViewer, application: Application) {
  if (!isComplete(application)) {
    return notice('plain', 'You can submit the application once nothing is missing.');
  }
  return setting(
    'submit',
    'Submit',
    'While we check your application, it cannot be changed.',
    form(
      pathOf(viewer, '/onboarding/submit'),
      { 'aria-label': 'Submit the application' },
      hidden('version', versionOf(application)),
      submit('Submit for review'),
    ),
  );
}
