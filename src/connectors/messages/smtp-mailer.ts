import { randomUUID } from 'node:crypto';
import { AtmoError } from '../../core/errors.ts';
import { readSecret } from '../../core/settings/secret-source.ts';
import type { Clock } from '../../core/time/clock.ts';
import { requireAllowed } from './allowed-targets.ts';
import { composeMail } from './compose-mail.ts';
import type { EmailConfig } from './email-config.ts';
import type { Mail, Mailer, MailReceipt } from './mail.ts';
import { deliverLetter, type SmtpServer } from './smtp-session.ts';

interface MailerGround {
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
}

/** Hands mail to the owner's mail server, one session for each. CONFIG_INVALID for a password that cannot be read. */
export class SmtpMailer implements Mailer {
  readonly #clock: Clock;
  readonly #config: EmailConfig;
  readonly #server: SmtpServer;

  constructor({ clock, env }: MailerGround, config: EmailConfig) {
    this.#clock = clock;
    this.#config = config;
    const { password, user, security, host } = config;
    if ((password === undefined) !== (user === undefined)) {
      throw new AtmoError('CONFIG_INVALID', 'connectors.email.user and connectors.email.password belong together; set both or neither');
    }
    if (security === 'none' && password !== undefined && !isHere(host)) {
      throw new AtmoError('CONFIG_INVALID', 'connectors.email would send the password in clear text; set security to starttls or tls');
    }
    this.#server = { ...config, ...(password !== undefined && { secret: readSecret(password, env) }) };
  }

  async send(mail: Mail, signal: AbortSignal): Promise<MailReceipt> {
    const { from, fromName = '', allowedRecipients } = this.#config;
    const to = [...new Set([...mail.to, ...mail.cc, ...mail.bcc])];
    requireAllowed(to, allowedRecipients, 'connectors.email.allowed_recipients');
    const messageId = `<${randomUUID()}@${from.slice(from.indexOf('@') + 1)}>`;
    const date = new Date(this.#clock.now());
    const bytes = await composeMail(mail, { from: { name: fromName, address: from }, messageId, date });
    return { messageId, rejected: await deliverLetter(this.#server, { from, to, bytes }, signal) };
  }
}

function isHere(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}
