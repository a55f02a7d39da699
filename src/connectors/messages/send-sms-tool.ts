import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { PHONE_PATTERN } from './sms-config.ts';
import type { SmsSender } from './sms-sender.ts';

/** Ten parts of a long message; most providers take no more. */
const MAX_MESSAGE = 1_530;

/** `send_sms` (source 000 §5). */
export function sendSmsTool(sms: Pick<SmsSender, 'send'>): RegisteredTool {
  return defineTool(
    {
      name: 'send_sms',
      title: 'Send SMS',
      description:
        'Sends a text message to a phone; it costs the owner money. Use notify instead to tell somebody of the house something. ' +
        'Example: {"phone": "+4915112345678", "message": "Water in the cellar!"}',
      category: 'communicating',
      capabilities: ['sms'],
      permissions: ['sms:send'],
      hasSideEffects: true,
      needsNetwork: true,
      isAsyncAllowed: true,
      tags: ['sms', 'phone', 'message'],
      parameters: {
        phone: p.string({ description: 'Number with the code of its country (E.164), such as +4915112345678', pattern: PHONE_PATTERN }),
        message: p.string({ description: 'Text; about 150 characters are one message to pay for', minLength: 1, maxLength: MAX_MESSAGE }),
      },
      returns: {
        type: 'object',
        required: ['delivered', 'sid'],
        properties: {
          delivered: { type: 'boolean', description: 'True when the provider took the message; whether the phone is on is not known' },
          sid: { type: 'string', description: "The provider's id of the message" },
        },
      },
      examples: [{ description: 'An alarm', params: { phone: '+4915112345678', message: 'Water in the cellar!' } }],
    },
    async ({ phone, message }, { signal }) => ({ delivered: true, sid: await sms.send({ phone, message }, signal) }),
  );
}
