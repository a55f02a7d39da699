import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { sseMessages } from './sse-reader.ts';

/** The envelope at the end of a call that is told while it runs; what comes before goes to `onChunk`. OUTCOME_UNKNOWN when it was cut. */
export async function streamedAnswer({ body }: Response, onChunk: (chunk: JsonObject) => void): Promise<JsonObject> {
  try {
    for await (const { event, data } of sseMessages(body)) {
      const value: unknown = JSON.parse(data);
      if (event === 'tool_response' && isJsonObject(value)) return value;
      if (event === 'tool_chunk' && isJsonObject(value)) onChunk(value);
    }
  } catch (cause) {
    throw cutOff(cause);
  }
  throw cutOff(undefined);
}

function cutOff(cause: unknown): AtmoError {
  return new AtmoError('OUTCOME_UNKNOWN', 'The hub went away during the call; look at the state before you call again', {}, { cause });
}
