/** A file that goes with a mail. */
export interface MailAttachment {
  readonly filename: string;
  readonly content: Buffer;
  readonly contentType?: string;
}

/** A mail; addresses are plain ones. */
export interface Mail {
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  readonly body: string;
  /** Whether the body is HTML instead of plain text. */
  readonly isHtml: boolean;
  readonly attachments: readonly MailAttachment[];
}

/** What the mail server said of a mail that it took. */
export interface MailReceipt {
  /** `Message-ID` of the mail, with its angle brackets (RFC 5322 §3.6.4). */
  readonly messageId: string;
  /** Addresses that the server refused while it took the mail for others. */
  readonly rejected: readonly string[];
}

/** Port: mail leaves the house. */
export interface Mailer {
  /**
   * Resolves when a server took the mail. Errors: SERVICE_UNAVAILABLE (nothing was delivered), SERVICE_REFUSED (it never will
   * be as it is), OUTCOME_UNKNOWN (it was sent whole and not answered), PERMISSION_DENIED (an address that the owner did not
   * allow), or what the signal aborts with.
   */
  send(mail: Mail, signal: AbortSignal): Promise<MailReceipt>;
}

/** A mail to one address, as messages of other kinds make it. */
export function plainMail(to: string, subject: string, body: string): Mail {
  return { to: [to], cc: [], bcc: [], subject, body, isHtml: false, attachments: [] };
}
