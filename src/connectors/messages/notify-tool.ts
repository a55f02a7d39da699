import { createHash } from 'node:crypto';
import { isoTime } from '../../core/time/iso-time.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool, ToolContext } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { deliver } from './deliver.ts';
import { findRecipient, type Recipient, waysFor } from './recipient.ts';
import { URGENCIES } from './urgency.ts';

const TIMEOUT_MS = 30_000;

const PARAMETERS = {
  recipient: p.string({
    description:
      'Who is told: a name, address, number, @handle or #channel that the owner configured; a wrong one is answered with all names',
    minLength: 1,
    maxLength: 256,
  }),
  message: p.string({ description: 'What to tell', minLength: 1, maxLength: 4096 }),
  urgency: p.enum(URGENCIES, { description: 'How much it matters; critical rings through at night', default: 'medium' }),
  title: p.string({ description: 'A short heading', minLength: 1, maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }).optional(),
  channels: p
    .array(p.string({ description: 'Name or kind of a way, such as email', maxLength: 32 }), {
      description: "Ways to try instead of the owner's order, first to last",
      maxItems: 16,
    })
    .optional(),
};

const RETURNS = {
  type: 'object',
  required: ['delivered', 'delivery_id', 'channel_used', 'timestamp'],
  properties: {
    delivered: { type: 'boolean', description: 'True when a provider took the message' },
    delivery_id: { type: 'string', description: "The provider's id of the message" },
    channel_used: { type: 'string', description: 'The way that it went' },
    timestamp: { type: 'string', format: 'date-time' },
  },
};

/** `notify` (source 000 §8.1): to somebody whom the owner configured, by the ways that the owner chose. */
export function notifyTool(recipients: readonly Recipient[]): RegisteredTool {
  return defineTool(
    {
      name: 'notify',
      title: 'Notify somebody',
      description: 'Tells somebody of the house something, on the phone, by mail or as the owner set it. The more urgent, the louder.',
      category: 'communicating',
      capabilities: ['notification'],
      permissions: ['notify:send'],
      hasSideEffects: true,
      needsNetwork: true,
      isAsyncAllowed: true,
      timeoutMs: TIMEOUT_MS,
      retries: 2,
      tags: ['message', 'alert', 'push', 'alarm'],
      parameters: PARAMETERS,
      returns: RETURNS,
      examples: recipients.slice(0, 1).map(({ name }) => ({
        description: 'An alarm',
        params: { recipient: name, message: 'Water on the floor!', urgency: 'critical' },
      })),
    },
    async ({ recipient: wanted, message, urgency, title, channels }, context) => {
      const { signal, clock, deadlineMs } = context;
      const recipient = findRecipient(wanted, recipients);
      const atMs = clock.now();
      const notification = {
        id: deliveryId(context),
        recipient: recipient.name,
        message,
        urgency,
        atMs,
        ...(title !== undefined && { title }),
      };
      const delivery = await deliver(notification, waysFor(recipient, urgency, channels), { signal, clock, deadlineMs });
      return {
        delivered: true,
        delivery_id: delivery.deliveryId,
        channel_used: delivery.channel,
        timestamp: isoTime(clock.now()),
      };
    },
  );
}

/**
 * The same for all attempts of a call, and for a call that an agent makes again under the id of the first; no agent can make that of
 * another.
 */
function deliveryId({ agentId, requestId }: ToolContext): string {
  return createHash('sha256')
    .update(JSON.stringify([agentId, requestId]))
    .digest('hex')
    .slice(0, 32);
}
