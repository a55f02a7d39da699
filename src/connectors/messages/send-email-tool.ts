import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { resultSchema } from '../connector.ts';
import { MAIL_ADDRESS_PATTERN, MAX_MAIL_ADDRESS } from './messages-config.ts';
import type { MailAttachment, SmtpMailer } from './smtp-mailer.ts';

const MAX_RECIPIENTS = 50;
const TIMEOUT_MS = 30_000;
/** Maximum size of the parameters of `send_email` in bytes. Attachments of 10 MiB in base64 and a body fit into it. */
const MAX_PARAMS_BYTES = 16 * 1_048_576;
const address = p.string({ description: 'Mail address', format: 'email', pattern: MAIL_ADDRESS_PATTERN, maxLength: MAX_MAIL_ADDRESS });

/** Returns `send_email`, which sends mail through the configured server. */
export function sendEmailTool(mailer: Pick<SmtpMailer, 'send'>): RegisteredTool {
  return defineTool(
    {
      name: 'send_email',
      title: 'Send email',
      description:
        'Sends a mail from the house, with files if wanted. Use notify instead to tell somebody of the house something. ' +
        'Example: {"to": ["anna@example.org"], "subject": "Water meter", "body": "It shows 512.3 m³."}',
      category: 'communicating',
      capabilities: ['email'],
      permissions: ['email:send'],
      hasSideEffects: true,
      needsNetwork: true,
      isAsyncAllowed: true,
      timeoutMs: TIMEOUT_MS,
      maxParamsBytes: MAX_PARAMS_BYTES,
      tags: ['mail', 'message', 'attachment'],
      parameters: {
        to: p.array(address, { description: 'Who gets it', minItems: 1, maxItems: MAX_RECIPIENTS }),
        cc: p.array(address, { description: 'Who gets a copy', default: [], maxItems: MAX_RECIPIENTS }),
        bcc: p.array(address, { description: 'Who gets a copy that nobody else knows of', default: [], maxItems: MAX_RECIPIENTS }),
        subject: p.string({ description: 'Subject, one line', maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }),
        body: p.string({ description: 'Text of the mail', maxLength: 1_048_576 }),
        html: p.boolean({ description: 'Whether the body is HTML instead of plain text', default: false }),
        attachments: attachmentsParameter,
      },
      returns: resultSchema(['sent', 'message_id', 'timestamp'], {
        sent: { type: 'boolean', description: 'True when the mail server took it' },
        message_id: { type: 'string' },
        timestamp: { type: 'string', format: 'date-time' },
        rejected: { type: 'array', items: { type: 'string' }, description: 'Addresses that the server refused; the others get it' },
      }),
      examples: [{ description: 'A mail', params: { to: ['anna@example.org'], subject: 'Water meter', body: 'It shows 512.3 m³.' } }],
    },
    async ({ to, cc, bcc, subject, body, html, attachments }, { signal, clock }) => {
      if (to.length + cc.length + bcc.length > MAX_RECIPIENTS) {
        throw new AtmoError('VALIDATION_ERROR', `A mail goes to at most ${MAX_RECIPIENTS} addresses, copies included; send several`);
      }
      const mail = { to, cc, bcc, subject, body, isHtml: html, attachments: attachmentsOf(attachments) };
      const { messageId, rejected } = await mailer.send(mail, signal);
      return { sent: true, message_id: messageId, timestamp: isoTime(clock.now()), ...(rejected.length > 0 && { rejected }) };
    },
  );
}

/** Maximum size of all attachments of a mail together, in bytes before base64 encoding. */
const MAX_ATTACHMENT_BYTES = 10 * 1_048_576;

const attachmentsParameter = p.array(
  p.object(
    {
      filename: p.string({
        description: 'Name of the file, without folders',
        minLength: 1,
        maxLength: 255,
        pattern: '^[^\\u0000-\\u001f\\u007f/\\\\]+$',
      }),
      content: p.string({
        description: 'The file in base64 (RFC 4648 §4); kept out of the journal',
        contentEncoding: 'base64',
        secret: true,
      }),
      content_type: p
        .string({
          description: 'Such as image/jpeg; by the name of the file when left out',
          pattern: '^[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}$',
        })
        .optional(),
    },
    { description: 'A file' },
  ),
  { description: 'Files that go along, 10 MiB in all', default: [], maxItems: 20 },
);

interface AttachmentParams {
  readonly filename: string;
  readonly content: string;
  readonly content_type?: string;
}

/** Returns the decoded attachments. Throws PAYLOAD_TOO_LARGE if they are larger than 10 MiB together. */
function attachmentsOf(files: readonly AttachmentParams[]): readonly MailAttachment[] {
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content, 'base64'), 0);
  if (bytes > MAX_ATTACHMENT_BYTES) {
    const details = { max_bytes: MAX_ATTACHMENT_BYTES };
    throw new AtmoError('PAYLOAD_TOO_LARGE', 'The attachments are more than 10 MiB in all; send fewer, or a link', details);
  }
  return files.map(({ filename, content, content_type: contentType }) =>
    present({ filename, content: Buffer.from(content, 'base64'), contentType }),
  );
}
