import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { type Clock, orAborted } from '../../core/clock.ts';
import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import type { ConnectorContext } from '../connector.ts';
import { certificateFailure } from '../http-client/http-request.ts';
import { type EmailConfig, requireAllowedTargets } from './messages-config.ts';

/** An attached file of a mail. */
export interface MailAttachment {
  readonly filename: string;
  readonly content: Buffer;
  readonly contentType?: string;
}

/** A mail. Its addresses are plain, without display names. */
interface Mail {
  /** Becomes the left part of `Message-ID`, so that a mail that is sent again has the same; random if absent. */
  readonly id?: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  readonly body: string;
  /** True for an HTML body, false for plain text. */
  readonly isHtml: boolean;
  readonly attachments: readonly MailAttachment[];
}

/** The result for a mail that the mail server accepted. */
interface MailReceipt {
  /** `Message-ID` of the mail, with its angle brackets (RFC 5322 §3.6.4). */
  readonly messageId: string;
  /** Recipients that the server refused. It accepted the mail for all other recipients. */
  readonly rejected: readonly string[];
}

/** Returns a plain-text mail to one address. */
export function plainMail(to: string, subject: string, body: string): Mail {
  return { to: [to], cc: [], bcc: [], subject, body, isHtml: false, attachments: [] };
}

/** Sends mails over the owner's mail server, each in a new session. Throws CONFIG_INVALID for an unusable or unencrypted login. */
export class SmtpMailer {
  readonly #clock: Clock;
  readonly #config: EmailConfig;
  readonly #server: SmtpServer;

  constructor({ clock, env }: Pick<ConnectorContext, 'clock' | 'env'>, config: EmailConfig) {
    this.#clock = clock;
    this.#config = config;
    const { password, user, security, host } = config;
    if ((password === undefined) !== (user === undefined)) {
      throw new AtmoError('CONFIG_INVALID', 'connectors.email.user and connectors.email.password belong together; set both or neither');
    }
    if (security === 'none' && password !== undefined && !isLoopback(host)) {
      throw new AtmoError('CONFIG_INVALID', 'connectors.email would send the password in clear text; set security to starttls or tls');
    }
    this.#server = { ...config, ...(password !== undefined && { secret: readSecret(password, env) }) };
  }

  /**
   * Sends a mail, and resolves when the server has accepted it. Rejects with SERVICE_UNAVAILABLE (nothing was delivered), SERVICE_REFUSED
   * (the server will never accept this mail), OUTCOME_UNKNOWN (the whole mail was sent, but the server did not respond), PERMISSION_DENIED
   * (the owner did not allow an address), or the signal's reason.
   */
  async send(mail: Mail, signal: AbortSignal): Promise<MailReceipt> {
    const { from, fromName = '', allowedRecipients } = this.#config;
    const to = [...new Set([...mail.to, ...mail.cc, ...mail.bcc])];
    requireAllowedTargets(to, allowedRecipients, 'connectors.email.allowed_recipients');
    const messageId = `<${mail.id ?? randomUUID()}@${from.slice(from.indexOf('@') + 1)}>`;
    const date = new Date(this.#clock.now());
    const bytes = await composeMail(mail, { from: { name: fromName, address: from }, messageId, date });
    return { messageId, rejected: await sendOverSmtp(this.#server, { from, to, bytes }, signal) };
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

interface MailHeaders {
  readonly from: { readonly name: string; readonly address: string };
  readonly messageId: string;
  readonly date: Date;
}

/** Returns the bytes of a mail (RFC 5322, MIME). They do not contain the `bcc` addresses. */
export async function composeMail(mail: Mail, { from, messageId, date }: MailHeaders): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const composer = new MailComposer({
    from,
    messageId,
    date,
    to: mail.to.map(bareAddress),
    cc: mail.cc.map(bareAddress),
    subject: mail.subject,
    ...(mail.isHtml ? { html: mail.body } : { text: mail.body }),
    attachments: [...mail.attachments],
    // Without these settings, nodemailer could attach files of the hub or load URLs. A mail may contain only data from the caller.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

/** Returns an address as an object. nodemailer would parse a string, but uses an object as it is. */
const bareAddress = (address: string) => ({ name: '', address });

/** The mail server's address, and the hub's credentials. */
interface SmtpServer extends Pick<EmailConfig, 'host' | 'port' | 'security' | 'caFile' | 'user'> {
  readonly secret?: string;
}

/** The envelope and the bytes of a mail. */
interface SmtpMessage {
  readonly from: string;
  readonly to: readonly string[];
  readonly bytes: Buffer;
}

const SOCKET_TIMEOUT_MS = 20_000;

/**
 * Delivers a mail in a new session (RFC 5321) and returns the addresses that the server refused. Rejects like `SmtpMailer.send`. If the
 * signal aborts before the final line of the mail was sent, the server does not deliver the mail.
 */
export async function sendOverSmtp(server: SmtpServer, letter: SmtpMessage, signal: AbortSignal): Promise<readonly string[]> {
  const { default: Connection } = await import('nodemailer/lib/smtp-connection');
  signal.throwIfAborted();
  const connection = new Connection(connectionOptions(server));
  const content = Readable.from([letter.bytes]);
  const broken = Promise.withResolvers<never>();
  connection.on('error', broken.reject);
  const session = runSession(connection, { server, letter, content });
  try {
    return await orAborted(Promise.race([session, broken.promise]), signal);
  } catch (error) {
    // If the stream has ended, the mail may have been sent: nodemailer reads the stream at the server's request, then sends the final line.
    throw smtpError(error, { isSent: content.readableEnded, signal });
  } finally {
    connection.close();
  }
}

async function runSession(
  connection: SMTPConnection,
  { server, letter, content }: { readonly server: SmtpServer; readonly letter: SmtpMessage; readonly content: Readable },
): Promise<readonly string[]> {
  await completed((end) => connection.connect(end));
  const { user, secret } = server;
  if (user !== undefined && secret !== undefined) await completed((end) => connection.login({ user, pass: secret }, end));
  const envelope = { from: letter.from, to: [...letter.to], size: letter.bytes.length };
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  connection.send(envelope, content, (error, info) => (error ? reject(error) : resolve(info?.rejected ?? [])));
  const rejected = await promise;
  connection.quit();
  return rejected;
}

function completed(run: (end: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => run((error) => (error ? reject(error) : resolve())));
}

function connectionOptions({ host, port, security, caFile }: SmtpServer) {
  return {
    host,
    port: port ?? (security === 'tls' ? 465 : 587),
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    connectionTimeout: INVOCATION_POLICY.connectTimeoutMs,
    greetingTimeout: INVOCATION_POLICY.connectTimeoutMs,
    dnsTimeout: INVOCATION_POLICY.connectTimeoutMs,
    socketTimeout: SOCKET_TIMEOUT_MS,
    ...(caFile !== undefined && { tls: { ca: readFileSync(caFile) } }),
  };
}

const MAX_REPLY = 300;

interface SmtpErrorFacts {
  readonly code: string;
  readonly message: string;
  /** SMTP reply code: 4xx is a temporary error, 5xx a permanent error (RFC 5321 §4.2.1). */
  readonly status?: number;
  readonly step?: string;
  /** Original error code of the system or of TLS. nodemailer replaces `code` by a code of its own. */
  readonly originalCode: string;
}

/**
 * Returns the error for a failed session. If the server sent a status, the outcome is certain. Without a status, the outcome is unknown if
 * the whole mail was sent, because the server may have accepted it.
 */
function smtpError(thrown: unknown, { isSent, signal }: { readonly isSent: boolean; readonly signal: AbortSignal }): unknown {
  const { code, message, status, step, originalCode } = parseSmtpError(thrown);
  const said = message.replaceAll(/\s+/g, ' ').slice(0, MAX_REPLY);
  if (status !== undefined && status >= 400) {
    const details = { status, ...(step !== undefined && { step }) };
    if (status < 500) return new AtmoError('SERVICE_UNAVAILABLE', `The mail server takes no mail now: ${said}`, details);
    return new AtmoError('SERVICE_REFUSED', `The mail server refused: ${said}`, details);
  }
  const certificate = certificateFailure('The mail server', originalCode);
  if (certificate) return certificate;
  if (isSent) return new AtmoError('OUTCOME_UNKNOWN', 'The mail server did not say whether it took the mail; it may or may not arrive');
  if (signal.aborted) return signal.reason;
  if (code === 'EAUTH' || code === 'EENVELOPE' || code === 'EMESSAGE') {
    return new AtmoError('SERVICE_REFUSED', `The mail server cannot take this: ${said}`, { reason: code });
  }
  return new AtmoError('SERVICE_UNAVAILABLE', `The mail server cannot be used (${code}): ${said}; nothing was sent`, { reason: code });
}

function parseSmtpError(thrown: unknown): SmtpErrorFacts {
  if (!(thrown instanceof Error)) return { code: 'no answer', originalCode: '', message: 'the connection ended' };
  const { code, originalCode, responseCode, command }: Partial<Record<'code' | 'originalCode' | 'responseCode' | 'command', unknown>> =
    thrown as object;
  return {
    code: typeof code === 'string' ? code : 'no answer',
    originalCode: typeof originalCode === 'string' ? originalCode : '',
    message: thrown.message,
    ...(typeof responseCode === 'number' && responseCode > 0 && { status: responseCode }),
    ...(typeof command === 'string' && { step: command }),
  };
}
