import { type Settings, section } from '../../core/config/config-section.ts';
import { ALLOWED_HOST } from '../web/address-policy.ts';

/** JSON Schema of `connectors.push`: Web Push to the browsers of persons. It needs no settings. */
export const PUSH_SECTION = section({
  contact: {
    type: 'string',
    pattern: '^(mailto:[^@\\s]+@[^@\\s]+|https://\\S+)$',
    maxLength: 254,
    description:
      'Whom a push service may ask about the messages of this hub, such as mailto:me@example.org; the address of the page when absent',
  },
  allowed_hosts: {
    type: 'array',
    items: { type: 'string', maxLength: 260, pattern: ALLOWED_HOST },
    maxItems: 100,
    default: [],
    description: 'Push services in private networks, such as push.lan:8443 or 192.168.1.0/24; these may use http',
  },
});

/** `connectors.push` of the configuration. */
export type PushConfig = Settings<typeof PUSH_SECTION>;
