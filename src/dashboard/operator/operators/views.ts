import type { ListedOperator } from '../../../accounts/public.ts';
import { refusal } from '../../account/parts.ts';
import { choice, submit, textField } from '../../view/fields.ts';
import type { View } from '../../view/layout.ts';
import type { Tone } from '../../view/parts.ts';
import {
  doneNotice,
  facts,
  moment,
  notice,
  objectHead,
  section,
  setting,
  tag,
  wordsOf,
} from '../../view/parts.ts';
import { dataTable } from '../../view/table.ts';
import { shortId, shortMoment } from '../../view/texts.ts';
import { form, link } from '../../view/url.ts';
import { reasonField } from '../parts.ts';

const ROLES = { support: 'Support', finance: 'Finance', admin: 'Admin' } as const;
const ROLES_HINT =
  'Support sees everything, retries, and raises disputes for buyers. Finance also decides disputes, refunds and settles. ' +
  'Admin also reviews merchants and manages operators.';

const STATES = {
  ACTIVE: ['good', 'Active'],
  INVITED: ['wait', 'Invited'],
  WITHOUT_TWO_FACTOR: ['wait', 'Without two-factor'],
  DISABLED: ['plain', 'Disabled'],
} as const satisfies Record<ListedOperator['state'], readonly [Tone, string]>;

const DONE = {
  disabled: 'The operator can no longer log in.',
} as const;

function stateTag({ state }: ListedOperator) {
  const [tone, title] = STATES[state];
  return tag(tone, title);
}

const roleField = (value?: string) =>
  choice({ name: 'role', label: 'Role', hint: ROLES_HINT, choices: ROLES, required: true, value });

const approversReason = (name: string) =>
  reasonField('For the admin who approves it, and the audit log.', { name });

const SECOND = 'Another admin has to approve it within 24 hours.';

/** All operators, and the form that invites one. */
export function operatorsView(operators: readonly ListedOperator[]): View {
  const list = dataTable({
    caption: 'Operators',
    isCompact: true,
    rows: operators,
    empty: 'None.',
    columns: {
      'E-mail': ({ email, userId }) => link(`/operator/operators/${userId}`, email),
      Role: ({ role }) => wordsOf(role),
      Status: stateTag,
      'Last seen': ({ lastSeenAt }) => (lastSeenAt ? shortMoment(lastSeenAt) : 'No session'),
    },
  });
  const invite = form(
    '/operator/operators/invite',
    {},
    textField({ name: 'email', label: 'E-mail', type: 'email', required: true }),
    roleField(),
    approversReason('reason'),
    submit('Propose the invitation'),
  );
  const content = [refusal(), list, setting('invite', 'Invite an operator', SECOND, invite)];
  return { title: 'Operators', content };
}

/** One operator, with what an admin may do to the account. */
export function operatorView(
  operator: ListedOperator,
  {
    viewerId,
    done,
    isLast,
  }: {
    viewerId: string;
    done: string | undefined;
    /** No other admin would remain beside the viewer: the end of this one is proposed. */
    isLast: boolean;
  },
): View {
  const content = [
    objectHead(
      {
        path: '/operator/operators',
        list: 'Operators',
        one: shortId('user id', operator.userId),
      },
      operator.email,
      stateTag(operator),
    ),
    doneNotice(DONE, done),
    section(
      'operator',
      'Operator',
      facts({
        Role: wordsOf(operator.role),
        Invited: moment(operator.createdAt),
        'Last seen': operator.lastSeenAt ? moment(operator.lastSeenAt) : 'No session',
      }),
    ),
    ...formsOf(operator, viewerId, isLast),
  ];
  return { title: operator.email, content, hasOwnHeading: true };
}

function formsOf(operator: ListedOperator, viewerId: string, isLast: boolean) {
  const path = `/operator/operators/${operator.userId}`;
  if (operator.userId === viewerId) {
    return [notice('plain', 'This is you. Another admin has to change your own account.')];
  }
  if (operator.state === 'DISABLED') {
    return [notice('plain', 'Invite the address again to let this operator log in.')];
  }
  const disable = setting(
    'disable',
    'Disable',
    ['Ends the sessions and refuses every login. ', isLast && SECOND],
    form(
      `${path}/disable`,
      {},
      isLast && approversReason('disableReason'),
      submit(isLast ? 'Propose to disable the operator' : 'Disable the operator', 'danger'),
    ),
  );
  const role = setting(
    'change-role',
    'Role',
    SECOND,
    form(
      `${path}/role`,
      {},
      roleField(operator.role),
      approversReason('roleReason'),
      submit('Propose the role'),
    ),
  );
  const reset = setting(
    'reset',
    'Lost device',
    'Removes two-factor authentication and ends the sessions. The next login sets it up again. Be sure that the person is who they say.',
    form(
      `${path}/reset-two-factor`,
      {},
      approversReason('resetReason'),
      submit('Propose to reset two-factor', 'danger'),
    ),
  );
  return [role, operator.state === 'ACTIVE' && reset, disable];
}
