import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import type { SlackPoster } from './slack-poster.ts';

/** Slack cuts longer texts (docs.slack.dev, chat.postMessage). */
const MAX_TEXT = 40_000;

/** `post_slack` (source 000 §5). */
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
      returns: {
        type: 'object',
        required: ['ok', 'ts'],
        properties: { ok: { type: 'boolean' }, ts: { type: 'string', description: 'Names the message, for answers in its thread' } },
      },
      examples: [{ description: 'A message', params: { channel: '#home', text: 'The washing machine is done.' } }],
    },
    async ({ channel, text, thread_ts: threadTs }, { signal }) => {
      const ts = await slack.post({ channel, text, ...(threadTs !== undefined && { threadTs }) }, signal);
      return { ok: true, ts };
    },
  );
}
