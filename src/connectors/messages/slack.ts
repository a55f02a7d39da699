import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { resultSchema } from '../connector.ts';
import { jsonOf, postJson } from '../http-client/endpoint-call.ts';
import { configuredUrl, requireAllowedTargets, type SlackConfig } from './messages-config.ts';

/** A message for a channel of Slack. */
interface SlackPost {
  readonly channel: string;
  readonly text: string;
  /** `ts` of the message to which this message replies. The reply appears in the thread of that message. */
  readonly threadTs?: string | undefined;
}

const SERVICE = 'Slack';
/** Errors by which Slack reports a rate limit (docs.slack.dev, chat.postMessage, errors). In these cases nothing was posted. */
const RATE_LIMIT_ERRORS = new Set(['ratelimited', 'rate_limited', 'message_limit_exceeded']);
const UNCERTAIN_ERRORS = new Set(['internal_error', 'fatal_error', 'request_timeout', 'service_unavailable']);

/** Posts to Slack as an app (chat.postMessage). Throws CONFIG_INVALID if the token cannot be read. */
export class SlackPoster {
  readonly #url: URL;
  readonly #token: string;
  readonly #allowedChannels: readonly string[] | undefined;

  constructor(env: NodeJS.ProcessEnv, config: SlackConfig) {
    this.#url = configuredUrl(`${config.url.replace(/\/$/, '')}/chat.postMessage`, 'connectors.slack.url');
    this.#token = readSecret(config.token, env);
    this.#allowedChannels = config.allowedChannels;
  }

  /** Posts a message and returns its `ts`. Rejects like `callEndpoint`, and with PERMISSION_DENIED if the channel is not allowed. */
  async post({ channel, text, threadTs }: SlackPost, signal: AbortSignal): Promise<string> {
    requireAllowedTargets([channel], this.#allowedChannels, 'connectors.slack.allowed_channels');
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    const json = JSON.stringify({ channel, text, thread_ts: threadTs });
    const response = await postJson({ service: SERVICE, url: this.#url, headers, token: this.#token, json, signal });
    return tsOf(jsonOf({ service: SERVICE }, response));
  }
}

/** Returns `ts` from Slack's response. Throws an error if the body reports one: even then, Slack's HTTP status is 200. */
function tsOf(answer: Json): string {
  if (!isJsonObject(answer) || typeof answer.ok !== 'boolean')
    throw new AtmoError('SERVICE_REFUSED', `${SERVICE} answered something else than expected`);
  if (answer.ok && typeof answer.ts === 'string') return answer.ts;
  const word = typeof answer.error === 'string' ? answer.error.slice(0, 80) : 'unknown';
  if (RATE_LIMIT_ERRORS.has(word)) throw new AtmoError('RATE_LIMITED', `${SERVICE} takes no more messages now (${word})`, { reason: word });
  if (UNCERTAIN_ERRORS.has(word))
    throw new AtmoError('OUTCOME_UNKNOWN', `${SERVICE} failed (${word}); the message may or may not be there`, { reason: word });
  throw new AtmoError('SERVICE_REFUSED', `${SERVICE} refused the message: ${word}`, { reason: word });
}

/** Longest text of a message in characters; Slack truncates longer texts (docs.slack.dev, chat.postMessage). */
const MAX_TEXT = 40_000;

/** Returns `post_slack`, which posts a message to a Slack channel. */
export function postSlackTool(slack: Pick<SlackPoster, 'post'>): RegisteredTool {
  return defineTool(
    {
      name: 'post_slack',
      title: 'Post to Slack',
      description:
        'Posts a message to a channel of Slack, or into a thread of it. Example: {"channel": "#home", "text": "The washing machine is done."}',
      category: 'communicating',
      capabilities: ['slack_integration'],
      permissions: ['slack:post'],
      hasSideEffects: true,
      needsNetwork: true,
      isAsyncAllowed: true,
      tags: ['slack', 'message', 'chat'],
      parameters: {
        channel: p.string({
          description: 'Channel such as #home, or the id of a channel',
          minLength: 1,
          maxLength: 80,
          pattern: '^[^\\s]+$',
        }),
        text: p.string({ description: 'Text of the message, in the markup of Slack', minLength: 1, maxLength: MAX_TEXT }),
        thread_ts: p.string({ description: 'ts of the message that this one answers', pattern: '^[0-9]{1,12}\\.[0-9]{1,8}$' }).optional(),
      },
      returns: resultSchema(['ok', 'ts'], {
        ok: { type: 'boolean' },
        ts: { type: 'string', description: 'Names the message, for answers in its thread' },
      }),
      examples: [{ description: 'A message', params: { channel: '#home', text: 'The washing machine is done.' } }],
    },
    async ({ channel, text, thread_ts: threadTs }, { signal }) => ({ ok: true, ts: await slack.post({ channel, text, threadTs }, signal) }),
  );
}
