import { words } from '../../core/devices/matter-words.ts';
import { AtmoError } from '../../core/errors.ts';
import { plain } from '../../core/foreign-text.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/** What devices answer when they did what they were told. `Exhausted` is a log that came whole (Core §11.11.4.2). */
const ACCEPTED: ReadonlySet<Json | undefined> = new Set([undefined, null, 0, 'Success', 'NoError', 'Exhausted']);

/**
 * Throws CLUSTER_STATUS where a response says no although the interaction succeeded: the `status` of ChangeToModeResponse,
 * SelectAreasResponse and the like, the `commandResponseState` of OperationalCommandResponse (Application Clusters §1.14.7.5).
 */
export function requireAcceptance(what: string, response: JsonObject | null): void {
  const refusal = response && refusalOf(response);
  if (!refusal) return;
  const { status, text } = refusal;
  const name = typeof status === 'number' ? `status ${status}` : words(String(status));
  throw new AtmoError('CLUSTER_STATUS', `${what}: the device refused it: ${name}${text === '' ? '' : ` (${JSON.stringify(text)})`}`, {
    status,
    response,
  });
}

function refusalOf(response: JsonObject): { readonly status: Json; readonly text: string } | undefined {
  const state = response.commandResponseState;
  if (isJsonObject(state)) return refused(state.errorStateId, state.errorStateDetails ?? state.errorStateLabel);
  return refused(response.status, response.statusText);
}

function refused(status: Json | undefined, text: Json | undefined): { readonly status: Json; readonly text: string } | undefined {
  if (status === undefined || ACCEPTED.has(status)) return undefined;
  return { status, text: typeof text === 'string' ? plain(text) : '' };
}
