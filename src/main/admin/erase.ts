import { DomainError } from '../../domain/index.ts';
import { findOrderAnywhere } from '../../orders/lists/find-orders.ts';
import { eraseBuyer, findOrdersOfBuyer } from '../../privacy/erase-buyer.ts';
import type { Erasure } from '../../privacy/erase-order.ts';
import { eraseOrder } from '../../privacy/erase-order.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand, ORDER, REASON, YES } from './command.ts';
import { blocks, facts, table } from './text.ts';

const WHY = { ...REASON, help: "Why, for the audit log, without the buyer's data" } as const;

const FOREVER = 'The data cannot be brought back, and the webhooks cannot be sent again.';

const WHAT_STAYS = `Ids, amounts, times, the ledger and the audit log stay. Refused while the data is needed: unless the order
is final, its webhooks have settled, no money of it moves and no alert of it is open.`;

const OUTCOMES = {
  erased: 'Erased.',
  erased_before: 'It was erased before: nothing was left.',
} as const;

const orderCommand = defineCommand({
  name: 'order erase',
  summary: "Erase the buyer's data of a final order, at the buyer's request",
  notes: `${WHAT_STAYS} On a terminal it asks for confirmation.`,
  options: { order: ORDER, reason: WHY, yes: YES },
  async run({ sql, actor, confirm }, { order: orderNumber, reason, yes }) {
    if (!yes) {
      await confirm(async () => {
        const { status, merchantId } = await findOrderAnywhere(sql, orderNumber);
        return blocks(facts({ Order: orderNumber, Status: status, Merchant: merchantId }), FOREVER);
      });
    }
    const data = await eraseOrder({ sql, actor }, orderNumber, reason);
    const { outcome, reasons } = data;
    if (outcome === 'refused') {
      const why = reasons.join('; ');
      throw new DomainError('INVALID_STATE', `Order ${orderNumber} cannot be erased: ${why}`);
    }
    return { data: { orderNumber, outcome }, text: OUTCOMES[outcome] };
  },
});

const buyerCommand = defineCommand({
  name: 'buyer erase',
  summary: "Erase a buyer's data in all orders of the buyer, at the buyer's request",
  notes: `${WHAT_STAYS} The other orders are listed with the reason:
run it again when they are final. Exit 1 if there is one. On a terminal it asks for confirmation.`,
  options: {
    email: { value: 'EMAIL', help: "The buyer's e-mail, in upper or lower case", required: true },
    phone: { value: 'PHONE', help: 'Also the orders with this phone number' },
    reason: WHY,
    yes: YES,
  },
  async run({ sql, actor, confirm }, { reason, yes, ...buyer }) {
    if (!yes) {
      await confirm(async () => {
        const found = await findOrdersOfBuyer(sql, buyer);
        return blocks(`Orders of this buyer: ${found.length}`, found.join('\n'), FOREVER);
      });
    }
    const orders = await eraseBuyer({ sql, actor }, buyer, reason);
    const countOf = (outcome: Erasure['outcome']) =>
      orders.filter((order) => order.outcome === outcome).length;
    const data = { erased: countOf('erased'), refused: countOf('refused'), orders };
    const list = table(orders.map((order) => ({ ...order, reasons: order.reasons.join('; ') })));
    const summary = `${data.erased} erased, ${data.refused} refused.`;
    return { data, text: blocks(list, summary), failed: data.refused > 0 };
  },
});

/** The commands that erase a buyer's data. */
export const ERASE_COMMANDS: readonly AdminCommand[] = [orderCommand, buyerCommand];
