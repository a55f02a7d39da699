import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { INVOCATION_POLICY } from '../../tools/calls/bounds/invocation-policy.ts';
import type { EmailConfig } from './email-config.ts';
import { smtpFailure } from './smtp-failure.ts';

/** Where a session leads, and who it is. */
export interface SmtpServer extends Pick<EmailConfig, 'host' | 'port' | 'security' | 'caFile' | 'user'> {
  readonly secret?: string;
}

/** A mail with the addresses that it goes to. */
export interface Letter {
  readonly from: string;
  readonly to: readonly string[];
  readonly bytes: Buffer;
}

const SILENCE_MS = 20_000;

/**
 * Delivers one mail in a session of its own (RFC 5321) and answers the addresses that the server refused. Errors as
 * `Mailer.send`. The connection ends with the signal; a mail whose last line did not go out is never delivered.
 */
export async function deliverLetter(server: SmtpServer, letter: Letter, signal: AbortSignal): Promise<readonly string[]> {
  const { default: Connection } = await import('nodemailer/lib/smtp-connection');
  signal.throwIfAborted();
  const connection = new Connection(connectionOptions(server));
  const content = Readable.from([letter.bytes]);
  const broken = brokenBy(connection, signal);
  try {
    return await Promise.race([converse(connection, { server, letter, content }), broken.promise]);
  } catch (error) {
    // The stream is read when the server has asked for the mail, and ends before the line that closes it.
    throw smtpFailure(error, { isSent: content.readableEnded, signal });
  } finally {
    broken.forget();
    connection.close();
  }
}

interface Talk {
  readonly server: SmtpServer;
  readonly letter: Letter;
  readonly content: Readable;
}

async function converse(connection: SMTPConnection, { server, letter, content }: Talk): Promise<readonly string[]> {
  await done((end) => connection.connect(end));
  const { user, secret } = server;
  if (user !== undefined && secret !== undefined) await done((end) => connection.login({ user, pass: secret }, end));
  const envelope = { from: letter.from, to: [...letter.to], size: letter.bytes.length };
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  connection.send(envelope, content, (error, info) => (error ? reject(error) : resolve(info?.rejected ?? [])));
  const rejected = await promise;
  connection.quit();
  return rejected;
}

function done(run: (end: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => run((error) => (error ? reject(error) : resolve())));
}

/** Rejects when the connection breaks or the caller gives up, whatever else is awaited. */
function brokenBy(connection: SMTPConnection, signal: AbortSignal) {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const giveUp = () => {
    connection.close();
    reject(signal.reason);
  };
  connection.on('error', reject);
  signal.addEventListener('abort', giveUp, { once: true });
  return { promise, forget: () => signal.removeEventListener('abort', giveUp) };
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
    socketTimeout: SILENCE_MS,
    ...(caFile !== undefined && { tls: { ca: readFileSync(caFile) } }),
  };
}
