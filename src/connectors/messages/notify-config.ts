import { optionalSection } from '../../core/settings/config-section.ts';
import { SECRET_SOURCE } from '../../core/settings/secret-source.ts';
import { MAIL_ADDRESS } from './mail-address.ts';
import { PHONE_PATTERN } from './sms-config.ts';
import { URGENCIES, type Urgency } from './urgency.ts';

const NAME = { pattern: '^[a-z0-9][a-z0-9_-]{0,31}$' } as const;
const URL = { type: 'string', pattern: '^https?://', maxLength: 2048 } as const;

/** One way to reach somebody: one member, which says the kind. */
const WAY = {
  ...optionalSection({
    ntfy: optionalSection({ url: { ...URL, description: 'Server and topic, such as https://ntfy.sh/anna-7f3a' }, token: SECRET_SOURCE }, [
      'url',
    ]),
    webhook: optionalSection(
      {
        url: URL,
        token: { ...SECRET_SOURCE, description: 'Sent as Bearer' },
        signing_secret: { ...SECRET_SOURCE, description: 'Signs (standardwebhooks.com)' },
      },
      ['url'],
    ),
    apprise: optionalSection(
      {
        url: { ...URL, description: 'Address of a stored configuration, such as http://apprise:8000/notify/home' },
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

const ORDER = { type: 'array', minItems: 1, maxItems: 16, uniqueItems: true, items: { type: 'string', ...NAME } } as const;

const RECIPIENT = optionalSection(
  {
    also: {
      type: 'array',
      maxItems: 32,
      items: { type: 'string', minLength: 1, maxLength: 256 },
      description: 'Other names of the recipient: @handle, address, number',
    },
    ways: { type: 'object', minProperties: 1, maxProperties: 16, propertyNames: NAME, additionalProperties: WAY },
    order: {
      ...optionalSection(Object.fromEntries(URGENCIES.map((urgency) => [urgency, ORDER]))),
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

/** A way as the file has it: exactly one of its members is there. */
export interface WayConfig {
  readonly ntfy?: { readonly url: string; readonly token?: string };
  readonly webhook?: { readonly url: string; readonly token?: string; readonly signingSecret?: string };
  readonly apprise?: { readonly url: string; readonly tag?: string };
  readonly email?: { readonly to: string };
  readonly sms?: { readonly phone: string };
  readonly slack?: { readonly channel: string };
  readonly mqtt?: { readonly topic: string };
}

/** Somebody who may be told something. */
export interface RecipientConfig {
  readonly also?: readonly string[];
  /** By name, in the order of the file. */
  readonly ways: Readonly<Record<string, WayConfig>>;
  readonly order?: Readonly<Partial<Record<Urgency, readonly string[]>>>;
}

/** `connectors.notify`: who may be told something, by name. */
export interface NotifyConfig {
  readonly recipients: Readonly<Record<string, RecipientConfig>>;
}
