import type { FirstSteps } from '../../onboarding/public.ts';
import type { MerchantViewer } from '../viewer.ts';
import { section, stepper } from '../view/parts.ts';
import { link } from '../view/url.ts';
import { pathOf } from '../viewer.ts';

/** What a merchant does first, each step ticked once it is done; nothing when all of them are. */
export function firstSteps(viewer: MerchantViewer, done: FirstSteps) {
  const steps = [
    [done.isApproved, 'Have your business approved', pathOf(viewer, '/onboarding')],
    [done.hasKey, 'Generate an API key', pathOf(viewer, '/keys')],
    [done.getsEvents, 'Set a webhook URL', pathOf(viewer, '/webhooks')],
    [done.hasOrder, 'Create an order', '/docs'],
    [done.hasEvent, 'Accept a webhook', pathOf(viewer, '/webhooks')],
  ] as const;
  const next = steps.findIndex(([isDone]) => !isDone);
  if (next === -1) return null;
  return section(
    'first-steps',
    'First steps',
    stepper(
      'First steps',
      steps.map(([isDone, title, path], index) => ({
        title,
        state: isDone ? 'done' : index === next ? 'current' : 'open',
        to: link(path, title),
      })),
    ),
  );
}
