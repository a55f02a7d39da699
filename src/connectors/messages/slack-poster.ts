import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { readSecret } from '../../core/settings/secret-source.ts';
import { callEndpoint, jsonOf } from '../http/endpoint-call.ts';
import { requireAllowed } from './allowed-targets.ts';
import { configuredUrl } from './configured-url.ts';
import type { SlackConfig } from './slack-config.ts';

/** A message for a channel of Slack. */
export interface SlackPost {
  readonly channel: string;
  readonly text: string;
  /** `ts` of the message that it answers. */
  readonly threadTs?: string;
}

const SERVICE = 'Slack';
/** Words of Slack for "not now" (docs.slack.dev, chat.postMessage, errors); after them nothing was posted. */
const LATER = new Set(['ratelimited', 'rate_limited', 'message_limit_exceeded']);
const UNCERTAIN = new Set(['internal_error', 'fatal_error', 'request_timeout', 'service_unavailable']);

/** Posts to Slack as an app (chat.postMessage). CONFIG_INVALID for a token that cannot be read. */
export class SlackPoster {
  readonly #url: URL;
  readonly #token: string;
  readonly #allowedChannels: readonly string[] | undefined;

  constructor(env: NodeJS.ProcessEnv, config: SlackConfig) {
    this.#url = configuredUrl(`${config.url.replace(/\/$/, '')}/chat.postMessage`, 'connectors.slack.url');
    this.#token = readSecret(config.token, env);
    this.#allowedChannels = config.allowedChannels;
  }

  /** `ts` of the message, its id in the channel. Errors: those of `callEndpoint`, SERVICE_REFUSED with Slack's word for it, PERMISSION_DENIED. */
  async post({ channel, text, threadTs }: SlackPost, signal: AbortSignal): Promise<string> {
    requireAllowed([channel], this.#allowedChannels, 'connectors.slack.allowed_channels');
    const answer = await callEndpoint({
      service: SERVICE,
      url: this.#url,
      method: 'POST',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify({ channel, text, ...(threadTs !== undefined && { thread_ts: threadTs }) }),
      isActing: true,
      signal,
    });
    return tsOf(jsonOf({ service: SERVICE }, answer));
  }
}

/** Slack says in the body whether it worked; the status is 200 in any case. */
function tsOf(answer: Json): string {
  if (!isJsonObject(answer) || typeof answer.ok !== 'boolean')
    throw new AtmoError('SERVICE_REFUSED', `${SERVICE} answered something else than expected`);
  if (answer.ok && typeof answer.ts === 'string') return answer.ts;
  const word = typeof answer.error === 'string' ? answer.error.slice(0, 80) : 'unknown';
  if (LATER.has(word)) throw new AtmoError('RATE_LIMITED', `${SERVICE} takes no more messages now (${word})`, { reason: word });
  if (UNCERTAIN.has(word))
    throw new AtmoError('OUTCOME_UNKNOWN', `${SERVICE} failed (${word}); the message may or may not be there`, { reason: word });
  throw new AtmoError('SERVICE_REFUSED', `${SERVICE} refused the message: ${word}`, { reason: word });
}
