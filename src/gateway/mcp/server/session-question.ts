import type { ServerContext } from '@modelcontextprotocol/server';
import { AtmoError } from '../../../core/errors.ts';
import { elicitation } from '../calls/elicitation.ts';
import type { McpCaller } from '../mcp-feature.ts';

/** People take their time. */
const ANSWER_LIMIT_MS = 10 * 60_000;

/** Asks the client of a session on the stream of the request that it waits for. */
export function sessionQuestion({ send }: ServerContext['mcpReq']): NonNullable<McpCaller['ask']> {
  return async (question, signal) => {
    try {
      const { action, content } = await send(elicitation(question), { signal, timeout: ANSWER_LIMIT_MS });
      return action === 'accept' ? { action, content: { ...content } } : { action };
    } catch (error) {
      throw new AtmoError(
        'CANCELLED',
        `The client did not put the question to anybody: ${error instanceof Error ? error.message.slice(0, 200) : 'it gave no reason'}`,
      );
    }
  };
}
