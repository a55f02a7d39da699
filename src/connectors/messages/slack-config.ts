import { optionalSection } from '../../core/settings/config-section.ts';
import { SECRET_SOURCE } from '../../core/settings/secret-source.ts';
import { ALLOWED_TARGETS } from './allowed-targets.ts';

/** JSON Schema of `connectors.slack`. */
export const SLACK_SECTION = optionalSection(
  {
    token: { ...SECRET_SOURCE, description: 'Token of a Slack app with the scope chat:write' },
    url: { type: 'string', pattern: '^https?://', default: 'https://slack.com/api', description: 'Where the API of Slack is' },
    allowed_channels: { ...ALLOWED_TARGETS, description: 'Channels that may be written to; all that the app is in when absent' },
  },
  ['token'],
);

/** `connectors.slack`: the app that writes for the hub. */
export interface SlackConfig {
  /** Where the token is. */
  readonly token: string;
  readonly url: string;
  readonly allowedChannels?: readonly string[];
}
