import { h } from 'preact';
import { z } from 'zod';
import { BUSINESS_KINDS } from '../../../domain/business-identity.ts';
import type { ListedMerchant } from '../../../onboarding/public.ts';
import { listUnderReview, searchMerchants } from '../../../onboarding/public.ts';
import { applicationState } from '../../view/application.ts';
import { choice, filterForm, textField } from '../../view/fields.ts';
import { section, wordsOf } from '../../view/parts.ts';
import { dataTable, pager } from '../../view/table.ts';
import { shortMoment } from '../../view/texts.ts';
import { link } from '../../view/url.ts';
import { merchantPath, reviewPage } from '../parts.ts';

const PATH = '/operator/merchants';
const STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'SUSPENDED'] as const;

const listQuery = z.object({
  q: z.string().max(200).optional().catch(undefined),
  status: z.enum(STATUSES).optional().catch(undefined),
  before: z.string().optional().catch(undefined),
});

export const merchantListPage = reviewPage('GET /merchants', { query: listQuery }).handledBy(
  async ({ query: { q, status, before } }, { sql }) => {
    const text = q?.trim();
    const isFirst = !text && status === undefined && before === undefined;
    const [waiting, { merchants, next }] = await Promise.all([
      isFirst ? listUnderReview(sql) : [],
      searchMerchants(sql, { text, status, before }),
    ]);
    return {
      view: {
        title: 'Merchants',
        content: [
          isFirst && waitingSection(waiting),
          filterForm(
            PATH,
            { values: { q, status } },
            textField({
              name: 'q',
              label: 'Name, e-mail, PAN, GSTIN or merchant id',
              type: 'search',
            }),
            choice({
              name: 'status',
              label: 'Status',
              choices: STATUS_CHOICES,
              placeholder: 'All',
            }),
          ),
          dataTable({
            caption: 'Merchants, the newest first',
            isCompact: true,
            columns: {
              Merchant: NAME,
              Status: STATE,
              'E-mail': EMAIL,
              Kind: KIND,
              Created: CREATED,
            },
            rows: merchants,
            empty: 'No merchant matches.',
          }),
          pager(PATH, { q, status }, { before, next }),
        ],
      },
    };
  },
);

const STATUS_CHOICES = Object.fromEntries(STATUSES.map((status) => [status, wordsOf(status)]));

function waitingSection(waiting: ListedMerchant[]) {
  return section(
    'waiting',
    'Waiting for a decision',
    dataTable({
      caption: 'Applications under review, the one that has waited longest first',
      isCompact: true,
      columns: { Merchant: NAME, 'E-mail': EMAIL, Kind: KIND, Submitted: SUBMITTED },
      rows: waiting,
      empty: 'No application waits.',
    }),
  );
}

const NAME = ({ merchantId, name }: ListedMerchant) =>
  link(merchantPath(merchantId), h('bdi', null, name));
const EMAIL = ({ email }: ListedMerchant) => email;
const STATE = ({ state }: ListedMerchant) => applicationState(state);
const KIND = ({ businessKind }: ListedMerchant) =>
  businessKind && BUSINESS_KINDS[businessKind].label;
const CREATED = ({ createdAt }: ListedMerchant) => shortMoment(createdAt);
const SUBMITTED = ({ submittedAt }: ListedMerchant) =>
  submittedAt === null ? '–' : shortMoment(submittedAt);
