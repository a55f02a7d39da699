import { optionalSection } from '../../core/settings/config-section.ts';
import { SECRET_SOURCE } from '../../core/settings/secret-source.ts';
import { ALLOWED_TARGETS } from './allowed-targets.ts';
import { MAIL_ADDRESS } from './mail-address.ts';

/** JSON Schema of `connectors.email`. */
export const EMAIL_SECTION = optionalSection(
  {
    host: { type: 'string', minLength: 1, maxLength: 253, description: 'Mail server that takes mail of the hub (SMTP)' },
    port: { type: 'integer', minimum: 1, maximum: 65_535, description: '587, or 465 with security tls, when absent' },
    security: {
      enum: ['starttls', 'tls', 'none'],
      default: 'starttls',
      description: 'tls from the first byte, starttls or nothing at all; no way falls back to clear text',
    },
    ca_file: { type: 'string', pattern: '^/', description: 'Certificate of an authority of your own, in PEM' },
    user: { type: 'string', minLength: 1, maxLength: 256 },
    password: SECRET_SOURCE,
    from: MAIL_ADDRESS,
    from_name: { type: 'string', maxLength: 64, pattern: '^[^\\u0000-\\u001f\\u007f]*$' },
    allowed_recipients: { ...ALLOWED_TARGETS, description: 'Whom mail may go to, such as *@example.org; anybody when absent' },
  },
  ['host', 'from'],
);

/** `connectors.email`: how mail leaves the house. */
export interface EmailConfig {
  readonly host: string;
  readonly port?: number;
  readonly security: 'starttls' | 'tls' | 'none';
  readonly caFile?: string;
  readonly user?: string;
  /** Where the password is. */
  readonly password?: string;
  readonly from: string;
  readonly fromName?: string;
  readonly allowedRecipients?: readonly string[];
}
