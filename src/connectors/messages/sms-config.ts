import type { Json } from '../../core/json.ts';
import { optionalSection } from '../../core/settings/config-section.ts';
import { SECRET_SOURCE } from '../../core/settings/secret-source.ts';
import { ALLOWED_TARGETS } from './allowed-targets.ts';

/** A number as the whole world dials it (ITU-T E.164). */
export const PHONE_PATTERN = '^\\+[1-9][0-9]{6,14}$';

/** JSON Schema of `connectors.sms`. */
export const SMS_SECTION = optionalSection(
  {
    url: { type: 'string', pattern: '^https?://', description: 'Where the provider takes messages' },
    format: { enum: ['json', 'form'], default: 'json', description: 'How the body is written' },
    body: { type: 'object', minProperties: 1, description: 'Body with {phone} and {message} where they belong, in any text of it' },
    headers: {
      type: 'object',
      maxProperties: 16,
      propertyNames: { pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$' },
      additionalProperties: { type: 'string', maxLength: 1024, pattern: '^[\\u0020-\\u007e]*$' },
      description: 'Further headers; {secret} stands for the secret',
    },
    user: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[^:]+$', description: 'For Basic authentication with the secret' },
    secret: SECRET_SOURCE,
    id_at: { type: 'string', pattern: '^(/[^/]+)+$', maxLength: 128, description: 'Where the answer has the id of the message (RFC 6901)' },
    allowed_numbers: { ...ALLOWED_TARGETS, description: 'Numbers that may be written to, such as +49*; all when absent' },
  },
  ['url', 'body', 'id_at'],
);

/** `connectors.sms`: any provider that takes messages over HTTP. */
export interface SmsConfig {
  readonly url: string;
  readonly format: 'json' | 'form';
  readonly body: { readonly [member: string]: Json };
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: string;
  /** Where the secret is. */
  readonly secret?: string;
  /** JSON Pointer (RFC 6901) into the provider's answer. */
  readonly idAt: string;
  readonly allowedNumbers?: readonly string[];
}
