import type { Mail } from './mail.ts';

/** Who a mail is from, and what it is called. */
export interface MailHead {
  readonly from: { readonly name: string; readonly address: string };
  readonly messageId: string;
  readonly date: Date;
}

/** The bytes of a mail as they go to the server (RFC 5322, MIME); who gets a blind copy is not in them. */
export async function composeMail(mail: Mail, { from, messageId, date }: MailHead): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const composer = new MailComposer({
    from,
    to: mail.to.map(bare),
    cc: mail.cc.map(bare),
    subject: mail.subject,
    messageId,
    date,
    ...(mail.isHtml ? { html: mail.body } : { text: mail.body }),
    attachments: mail.attachments.map((file) => ({
      filename: file.filename,
      content: file.content,
      ...(file.contentType !== undefined && { contentType: file.contentType }),
    })),
    // A mail holds what the caller gave, and nothing that nodemailer would fetch for it.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

/** An address that nothing splits or interprets. */
const bare = (address: string) => ({ name: '', address });
