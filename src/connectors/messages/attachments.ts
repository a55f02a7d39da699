import { AtmoError } from '../../core/errors.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import type { MailAttachment } from './mail.ts';

/** All attachments of a mail together, before they become longer on their way. */
export const MAX_ATTACHMENT_BYTES = 10 * 1_048_576;

/** The parameter of tools that send files along. */
export const attachmentsParameter = p.array(
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

/** The files themselves. PAYLOAD_TOO_LARGE when they are more than 10 MiB in all. */
export function attachmentsOf(files: readonly AttachmentParams[]): readonly MailAttachment[] {
  const characters = files.reduce((sum, { content }) => sum + content.length, 0);
  if (characters > (MAX_ATTACHMENT_BYTES * 4) / 3 + 4 * files.length) throw tooLarge();
  const decoded = files.map(attachmentOf);
  if (decoded.reduce((sum, { content }) => sum + content.length, 0) > MAX_ATTACHMENT_BYTES) throw tooLarge();
  return decoded;
}

function attachmentOf({ filename, content, content_type: contentType }: AttachmentParams): MailAttachment {
  return { filename, content: Buffer.from(content, 'base64'), ...(contentType !== undefined && { contentType }) };
}

function tooLarge(): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', 'The attachments are more than 10 MiB in all; send fewer, or a link', {
    max_bytes: MAX_ATTACHMENT_BYTES,
  });
}
