import { optionalSection, SECRET_SOURCE, type Settings, section } from '../../core/config/config-section.ts';
import { ALLOWED_HOST } from './address-policy.ts';

/** JSON Schema of `connectors.web`: whether agents may fetch web pages, and which private hosts they may reach. */
export const WEB_SECTION = section({
  enabled: { type: 'boolean', default: true, description: 'Whether agents may fetch pages of the public internet' },
  allowed_hosts: {
    type: 'array',
    items: { type: 'string', maxLength: 260, pattern: ALLOWED_HOST },
    maxItems: 100,
    default: [],
    description: 'Hosts of private networks that agents may reach: nas.lan, nas.lan:8080, 192.168.1.20, 192.168.1.0/24',
  },
});

/** JSON Schema of `connectors.search`: the SearXNG server for searches. */
export const SEARCH_SECTION = optionalSection(
  {
    url: {
      type: 'string',
      format: 'uri',
      pattern: '^https?://',
      maxLength: 500,
      description: 'Where SearXNG is; its settings need search.formats: json',
    },
    token: { ...SECRET_SOURCE, description: 'Sent as Authorization: Bearer, for a server behind a proxy that asks for it' },
    language: { type: 'string', pattern: '^[a-z]{2,3}(-[A-Z]{2})?$', description: 'Such as de or en-GB; the server decides when absent' },
  },
  ['url'],
);

/** `connectors.web` of the configuration: whether agents may fetch web pages, and which private hosts they may reach. */
export type WebConfig = Settings<typeof WEB_SECTION>;

/** `connectors.search` of the configuration: the SearXNG server for searches. */
export type SearchConfig = Settings<typeof SEARCH_SECTION>;
