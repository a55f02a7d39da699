import { type ErrorCode, toAtmoError } from '../core/errors.ts';
import { type Json, type JsonObject, objectOf, objectsOf } from '../core/json.ts';

/** The outcome of a check. `advice` is the remedy; a check that is ok has none. */
export interface Finding {
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  readonly advice?: string;
}

/** A named check of `atmo doctor` with its outcome. */
export interface CheckResult extends Finding {
  readonly check: string;
}

/** Returns the result of a named check. */
export function named(check: string, finding: Finding): CheckResult {
  return { check, ...finding };
}

/** Returns the finding that everything is all right. */
export function ok(found: string): Finding {
  return { state: 'ok', found };
}

/** Returns a finding that needs attention. */
export function warning(found: string, advice: string): Finding {
  return { state: 'warning', found, advice };
}

/** Returns a finding that something does not work. */
export function failed(found: string, advice: string): Finding {
  return { state: 'failed', found, advice };
}

/** The checks under one heading. */
export interface CheckSection {
  readonly title: string;
  readonly checks: readonly CheckResult[];
}

const NOT_PERMITTED: ReadonlySet<ErrorCode> = new Set(['TOOL_NOT_FOUND', 'PERMISSION_DENIED']);

/** Runs a check. An error that it throws becomes a finding. */
export async function guardedCheck(check: string, run: () => Promise<Finding>): Promise<CheckResult> {
  try {
    return named(check, await run());
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    if (NOT_PERMITTED.has(code)) return named(check, warning('this token may not ask', "ask with the owner's token"));
    return named(check, failed(`${code}: ${message}`, 'see the checks above'));
  }
}

/** TCP ports at which the hub of this machine listens. */
export interface HubPorts {
  /** Port of the HTTP server; absent if the hub is on another machine. */
  readonly http?: number;
  readonly mesh: number;
  /** False if the hub is in no mesh. It then does not listen at the mesh port. Absent if unknown. */
  readonly isInMesh?: boolean;
  readonly isHubThere: boolean;
}

/** Port: what the checks ask a hub. `atmo doctor` asks over HTTP; the hub asks itself, with the rights of the caller. */
export interface HubQuestions {
  call(tool: string, params: JsonObject): Promise<Json>;
  devices(): Promise<JsonObject>;
  /** The membership of the hub and its peers. */
  mesh(): Promise<JsonObject>;
  /** How other machines reach the hub over TLS, as `GET /api/v1/tls` answers. */
  tls(): Promise<JsonObject>;
  isMatterOn(): Promise<boolean>;
}

/** Returns the objects in the field `member` of an answer. Returns an empty list if the field is not a list. */
export function objectsIn(answer: Json, member: string): readonly JsonObject[] {
  return objectsOf(objectOf(answer)[member]);
}
