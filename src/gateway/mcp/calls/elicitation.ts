import type { ErrorBody } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../core/json.ts';
import type { ToolQuestion } from '../../../tools/calls/asking/tool-question.ts';
import { copyJsonObject } from '../../../tools/schema/plain-json.ts';

/** A question as both eras put it to clients. */
export function elicitation({ message, schema }: Pick<ToolQuestion, 'message' | 'schema'>) {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: copyJsonObject(schema) } } as const;
}

/** Whether a client shows forms. Those that say nothing of modes do (2025-11-25 and before). */
export function showsForms({ elicitation: declared }: JsonObject): boolean {
  return isJsonObject(declared) && (isJsonObject(declared.form) || Object.keys(declared).length === 0);
}

/** What a client has to declare, as `ClientCapabilities`, so that the call which ended with this error can be made. */
export function neededCapabilities({ code, details }: Pick<ErrorBody, 'code' | 'details'>): JsonObject | undefined {
  if (code !== 'NOT_SUPPORTED') return undefined;
  return isJsonObject(details.client_capabilities) ? details.client_capabilities : undefined;
}
