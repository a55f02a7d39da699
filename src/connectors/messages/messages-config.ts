import { optionalSection, SECRET_SOURCE, type Settings } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { URGENCIES, type Urgency } from '../../core/notices.ts';

/**
 * A plain mail address, as browsers accept it (HTML Living Standard, "valid email address"). It has no display name, comment, list, white
 * space or line break. So no part of it can become a mail header or a second address.
 */
export const MAIL_ADDRESS_PATTERN =
  "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$";

/** Longest mail address (RFC 5321 §4.5.3.1.3, without the angle brackets). */
export const MAX_MAIL_ADDRESS = 254;

const MAIL_ADDRESS = { type: 'string', maxLength: MAX_MAIL_ADDRESS, pattern: MAIL_ADDRESS_PATTERN } as const;

/** JSON Schema of a list of allowed targets. An item is a whole name, or its beginning and then `*`, or `*` and then its end. */
const ALLOWED_TARGETS = {
  type: 'array',
  minItems: 1,
  maxItems: 256,
  items: { type: 'string', pattern: '^(\\*?[^*\\s]{1,254}|[^*\\s]{1,254}\\*)$' },
} as const;

/**
 * Throws PERMISSION_DENIED, with the target and the setting, if a target matches no item of `allowed`. Ignores letter case. If `allowed` is
 * undefined, all targets are allowed.
 */
export function requireAllowedTargets(targets: readonly string[], allowed: readonly string[] | undefined, setting: string): void {
  if (!allowed) return;
  const denied = targets.find((target) => !allowed.some((pattern) => matchesPattern(target.toLowerCase(), pattern.toLowerCase())));
  if (denied === undefined) return;
  const message = `${JSON.stringify(denied)} is not among ${setting}; the owner may add it there`;
  throw new AtmoError('PERMISSION_DENIED', message, { target: denied });
}

function matchesPattern(target: string, pattern: string): boolean {
  if (pattern.startsWith('*')) return target.endsWith(pattern.slice(1));
  return pattern.endsWith('*') ? target.startsWith(pattern.slice(0, -1)) : target === pattern;
}

/** Pattern of an international phone number (ITU-T E.164). */
export const PHONE_PATTERN = '^\\+[1-9][0-9]{6,14}$';

/** JSON Schema of `connectors.sms`. */
export const SMS_SECTION = optionalSection(
  {
    url: { type: 'string', format: 'uri', pattern: '^https?://', description: 'Where the provider takes messages' },
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

/** `connectors.sms`: any SMS provider with an HTTP API. */
export type SmsConfig = Settings<typeof SMS_SECTION>;

const CHANNEL_NAME = { pattern: '^[a-z0-9][a-z0-9_-]{0,31}$' } as const;
const HTTP_URL = { type: 'string', format: 'uri', pattern: '^https?://', maxLength: 2048 } as const;

/** JSON Schema of one channel of a recipient: an object with exactly one property. Its name is the type of the channel, such as `sms`. */
const CHANNEL = {
  ...optionalSection({
    ntfy: optionalSection(
      { url: { ...HTTP_URL, description: 'Server and topic, such as https://ntfy.sh/anna-7f3a' }, token: SECRET_SOURCE },
      ['url'],
    ),
    webhook: optionalSection(
      {
        url: HTTP_URL,
        token: { ...SECRET_SOURCE, description: 'Sent as Bearer' },
        signing_secret: { ...SECRET_SOURCE, description: 'Signs (standardwebhooks.com)' },
      },
      ['url'],
    ),
    apprise: optionalSection(
      {
        url: { ...HTTP_URL, description: 'Address of a stored configuration, such as http://apprise:8000/notify/home' },
        tag: { type: 'string', maxLength: 128 },
      },
      ['url'],
    ),
    email: optionalSection({ to: MAIL_ADDRESS }, ['to']),
    sms: optionalSection({ phone: { type: 'string', pattern: PHONE_PATTERN } }, ['phone']),
    slack: optionalSection({ channel: { type: 'string', minLength: 1, maxLength: 80 } }, ['channel']),
    mqtt: optionalSection({ topic: { type: 'string', maxLength: 256, pattern: '^[^#+\\u0000]+$' } }, ['topic']),
  }),
  minProperties: 1,
  maxProperties: 1,
} as const;

const ORDER = { type: 'array', minItems: 1, maxItems: 16, uniqueItems: true, items: { type: 'string', ...CHANNEL_NAME } } as const;

const RECIPIENT = optionalSection(
  {
    also: {
      type: 'array',
      maxItems: 32,
      items: { type: 'string', minLength: 1, maxLength: 256 },
      description: 'Other names of the recipient: @handle, address, number',
    },
    ways: { type: 'object', minProperties: 1, maxProperties: 16, propertyNames: CHANNEL_NAME, additionalProperties: CHANNEL },
    order: {
      ...optionalSection(Object.fromEntries(URGENCIES.map((urgency) => [urgency, ORDER])) as Record<Urgency, typeof ORDER>),
      description: 'Which ways are tried, first to last, by urgency; all in the order of the file when absent',
    },
  },
  ['ways'],
);

/** JSON Schema of `connectors.notify`. */
export const NOTIFY_SECTION = optionalSection(
  {
    recipients: {
      type: 'object',
      minProperties: 1,
      maxProperties: 256,
      propertyNames: { pattern: '^[^\\u0000-\\u001f\\u007f]{1,64}$' },
      additionalProperties: RECIPIENT,
      description: 'Persons, rooms and channels that may be told something, each with the ways to reach them',
    },
  },
  ['recipients'],
);

/** The settings of one channel. Exactly one property is present; its name is the type of the channel. */
export type ChannelConfig = Settings<typeof CHANNEL>;

/** `connectors.notify`: recipients by name. */
export type NotifyConfig = Settings<typeof NOTIFY_SECTION>;

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

/** `connectors.email`: the mail server of the owner. */
export type EmailConfig = Settings<typeof EMAIL_SECTION>;

/** JSON Schema of `connectors.slack`. */
export const SLACK_SECTION = optionalSection(
  {
    token: { ...SECRET_SOURCE, description: 'Token of a Slack app with the scope chat:write' },
    url: {
      type: 'string',
      format: 'uri',
      pattern: '^https?://',
      default: 'https://slack.com/api',
      description: 'Where the API of Slack is',
    },
    allowed_channels: { ...ALLOWED_TARGETS, description: 'Channels that may be written to; all that the app is in when absent' },
  },
  ['token'],
);

/** `connectors.slack`: the Slack app with which the hub posts messages. */
export type SlackConfig = Settings<typeof SLACK_SECTION>;

/** Returns a URL of the configuration file. Throws CONFIG_INVALID if the URL is malformed, or contains a user or password. */
export function configuredUrl(text: string, setting: string): URL {
  const url = URL.parse(text);
  if (!url) throw new AtmoError('CONFIG_INVALID', `${setting} is no address such as https://example.org/path`);
  if (url.username === '' && url.password === '') return url;
  throw new AtmoError('CONFIG_INVALID', `${setting} holds a user or password; the file may be read by others, set the secret beside it`);
}
