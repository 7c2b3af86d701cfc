import type { Command } from './command.ts';
import { countOf, EXIT, requireWord, UsageError } from './command.ts';
import { SCENARIOS, scenarioOf } from './scenarios.ts';

const eventsList: Command = {
  name: 'events list',
  usage: '[--type EVENT] [--order NUMBER] [--from TIME] [--size N]',
  does: 'The first events, oldest first; --from begins later',
  options: {
    type: { type: 'string' },
    order: { type: 'string' },
    from: { type: 'string' },
    size: { type: 'string' },
  },
  async run({ client, print }, given) {
    const { type, order, from } = given.values;
    const { content } = await client()
      .events.list({
        size: countOf(given, 'size', 20),
        ...(typeof type === 'string' && { type }),
        ...(typeof order === 'string' && { orderNumber: order }),
        ...(typeof from === 'string' && { createdFrom: from }),
      })
      .page();
    for (const event of content) {
      print(
        `${event.timestamp} ${event.event_id} ${event.event} ${event.data.order_number}`,
        event,
      );
    }
    return EXIT.done;
  },
};

const eventsShow: Command = {
  name: 'events show',
  usage: 'EVENT_ID',
  does: 'One event, its delivery and its attempts',
  async run({ client, print }, { words }) {
    const found = await client().events.get(requireWord(words, 'The id of the event'));
    print(JSON.stringify(found, null, 2), found);
    return EXIT.done;
  },
};

const eventsResend: Command = {
  name: 'events resend',
  usage: 'EVENT_ID',
  does: 'Send the webhook of an event once more',
  async run({ client, print }, { words }) {
    const id = requireWord(words, 'The id of the event');
    const result = await client().events.resend(id);
    print(`${id} is sent again: payorders events show ${id}`, result);
    return EXIT.done;
  },
};

const trigger: Command = {
  name: 'trigger',
  usage: 'EVENT',
  does: 'Cause an event in the sandbox, with a new order that gets so far',
  async run({ client, print }, { words }) {
    const event = requireWord(words, 'The event').toUpperCase();
    const scenario = scenarioOf(event);
    if (!scenario) {
      const known = [...new Set(SCENARIOS.flatMap(({ webhooks }) => webhooks))].join(', ');
      throw new UsageError(`${event} is no event: ${known}`);
    }
    const orderNumber = await scenario.run(client());
    print(`${orderNumber}: ${scenario.webhooks.join(', ')}`, {
      orderNumber,
      scenario: scenario.id,
    });
    return EXIT.done;
  },
};

const scenarioRun: Command = {
  name: 'scenario run',
  usage: 'NAME',
  does: 'Lead a new order through a scenario of the sandbox',
  async run({ client, print }, { words }) {
    const name = requireWord(words, 'The name of the scenario');
    const scenario = SCENARIOS.find(({ id }) => id === name);
    if (!scenario) throw new UsageError(`There is no scenario ${name}: payorders scenario list`);
    const orderNumber = await scenario.run(client());
    print(`${orderNumber}: ${scenario.webhooks.join(', ')}`, {
      orderNumber,
      webhooks: scenario.webhooks,
    });
    return EXIT.done;
  },
};

const scenarioList: Command = {
  name: 'scenario list',
  usage: '',
  does: 'The scenarios, with their webhooks',
  run({ print }) {
    for (const { id, title, text, webhooks } of SCENARIOS) {
      print(`${id}: ${title}\n  ${text}\n  ${webhooks.join(', ')}`, { id, title, text, webhooks });
    }
    return Promise.resolve(EXIT.done);
  },
};

/** The commands about events and scenarios. */
export const EVENT_COMMANDS: readonly Command[] = [
  trigger,
  scenarioRun,
  scenarioList,
  eventsList,
  eventsShow,
  eventsResend,
];
