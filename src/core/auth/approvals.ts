import { describeTargets, deviceElement, type NamedDevice, nameText, readsIn, verbOf } from '../devices/action-descriptions.ts';
import { type CallWords, ENGLISH_CALL } from '../devices/call-words.ts';
import type { Json, JsonObject } from '../json.ts';
import { escapeAllHidden } from '../untrusted-text.ts';
import type { Effect, PlannedProgram, Principal, Risk } from './principal.ts';

/**
 * State of an approval request. `approved`: enough people have approved, but the call has not been made yet. `withdrawn`: the job that
 * waited for the approval has ended, or its approval for an hour was removed.
 */
export const APPROVAL_STATES = ['pending', 'approved', 'used', 'denied', 'expired', 'withdrawn'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** Pattern of an approver's name. */
export const PERSON_NAME = /^[a-z0-9][a-z0-9_.-]{0,31}$/;

/**
 * The answers that a person can give to a request. `approve`: allow the call once. `approve_for_hour`: allow the same call of the same agent
 * for an hour. `deny`: refuse the call. `refuse`: refuse the call, and refuse the agent the devices of the call until somebody removes that.
 */
export const APPROVAL_ANSWERS = ['approve', 'approve_for_hour', 'deny', 'refuse'] as const;
export type ApprovalDecision = (typeof APPROVAL_ANSWERS)[number];

/** Returns whether an answer allows the call. */
export function isApproving(decision: ApprovalDecision): boolean {
  return decision === 'approve' || decision === 'approve_for_hour';
}

/** What a call touches, which decides how long its request may wait and which answers are offered. `guarded`: what opens something, or may
 * open it: a lock, valve, garage door or other opening, an action of a bridge, any dangerous effect but those of ovens and alarms, and a dangerous
 * step of which it is not known what it changes.
 */
export const APPROVAL_KINDS = ['guarded', 'programs', 'administration', 'devices', 'other'] as const;
export type ApprovalKind = (typeof APPROVAL_KINDS)[number];

/** Longest time for which a request may wait, whatever is set, in milliseconds. */
export const LONGEST_WAIT_MS = 24 * 3_600_000;
/** The kinds whose time can be set: guarded ones wait ten minutes at most. */
export const WAIT_KINDS = ['devices', 'programs', 'administration', 'other'] as const satisfies readonly ApprovalKind[];

/** How long requests may wait for people, in milliseconds. A request for several kinds waits as long as the shortest of them. */
export type ApprovalWaits = Readonly<Record<(typeof WAIT_KINDS)[number], number>>;

/** Port: how long requests wait, as the owner chooses. */
export interface ApprovalWaitChoices {
  /** The waits of the configuration, which hold where nothing else was chosen. */
  readonly configured: ApprovalWaits;
  current(): ApprovalWaits;
  /** Replaces what was chosen. Kinds that are absent wait as the configuration says. Requests that wait already are not changed. */
  choose(waits: Partial<ApprovalWaits>): void;
}

/** A call as people approve it: the tool, its parameters and targets, and the calls that it makes itself (`steps`). */
export interface PlannedCall {
  /** Canonical id of the tool, or the name as it was written if no registered tool has that name. */
  readonly tool: string;
  readonly title: string;
  /** Parameters with masked secrets. They may still contain placeholders for results of earlier steps. */
  readonly params: JsonObject;
  /** SHA-256 (hex) over the tool's definition, program and implementation, but no parameters. Empty if no tool has the name. */
  readonly definition: string;
  /** SHA-256 (hex) over the parameters in full, even if `params` is shortened. Each secret is first replaced by its seal (a keyed hash). */
  readonly arguments: string;
  /** True if the parameters depend on results of earlier steps, so that `params` contains placeholders. */
  readonly open?: true;
  readonly program?: PlannedProgram;
  readonly targets: readonly string[];
  /** Targets that the call only reads; absent if there are none. */
  readonly reads?: readonly string[];
  /** True if the call is dangerous, or may be where `open`; absent if it is not, or if the tool is not known or is on another hub. */
  readonly dangerous?: true;
  readonly steps?: readonly PlannedCall[];
}

/** A step of an approved call: as people saw it, and as it runs. `now` has the arguments that were open when people saw the step. */
export interface ApprovedStep {
  readonly seen: PlannedCall;
  readonly now: PlannedCall;
}

/** An approval of a call for the steps that people saw in it. */
export interface CoveringApproval {
  readonly id: string;
  readonly by: readonly string[];
  /** The caller for whom it was given, by `principalKey`. */
  readonly requester: string;
}

/** An approval request in the form that people see. All APIs return it unchanged, so its fields are in snake_case. */
export interface ApprovalView {
  readonly approval_id: string;
  readonly state: ApprovalState;
  readonly agent_id: string;
  readonly tool: string;
  readonly title: string;
  /** Parameters of the call, with secrets masked. */
  readonly params: JsonObject;
  readonly effects: readonly { readonly target: string; readonly permission: string; readonly risk: Risk }[];
  /** Affected devices with their current names and areas. */
  readonly devices: readonly NamedDevice[];
  /** The plan of the call; absent if the call runs neither a program nor steps. */
  readonly runs?: PlannedCall;
  /** Number of persons who must approve. */
  readonly needed: number;
  readonly given: number;
  readonly approved_by: readonly { readonly person: string; readonly key_id: string; readonly at: string }[];
  readonly denied_by?: string;
  readonly created_at: string;
  /** Time until which people can decide. */
  readonly expires_at: string;
  /** Seconds for which the request may wait, from `created_at` to `expires_at`. */
  readonly waits_for_s: number;
  /** Time until which the approved call can be made; absent while the request is not approved. */
  readonly usable_until?: string;
  /** The answers that the hub accepts for this request. */
  readonly answers: readonly ApprovalDecision[];
  /** True if the call runs as soon as it is approved, because it waits as a job. Otherwise, the agent has to repeat the call. */
  readonly runs_when_approved: boolean;
  /** The job that waits for the approval. */
  readonly job_id?: string;
  readonly hub: string;
  readonly call_hash: string;
  readonly trace_id: string;
}

/** A person's signed decision about a request. */
export interface SignedDecision {
  readonly approvalId: string;
  readonly decision: ApprovalDecision;
  readonly person: string;
  /** COSE_Sign1 signature over the statement that docs/approvals.md defines, in base64url. */
  readonly signature: string;
}

/** An approval request and the key of the principal who made it. */
export interface OwnedApproval {
  readonly principalKey: string;
  readonly view: ApprovalView;
}

/** Port: lists approval requests and receives the decisions of people. */
export interface ApprovalService {
  /**
   * Returns the requests, newest first; with `state`, only those in that state. Each request is listed until one hour after its expiry,
   * whatever its state.
   */
  list(state?: ApprovalState): readonly OwnedApproval[];
  get(approvalId: string): OwnedApproval | undefined;
  /**
   * Stores a decision. Rejects with NOT_FOUND (unknown id), CONFLICT (the request is expired, used or denied, or the person has approved it
   * already) or PERMISSION_DENIED (the person has no key, the signature is wrong, or the answer is not offered). An approval also rejects
   * with PERMISSION_DENIED if the request is the person's own, or if the key is newer than the request.
   */
  decide(decision: SignedDecision): Promise<ApprovalView>;
}

/** A key with which a person signs decisions. A person may have several keys (phone, laptop) but counts as one approver. */
export interface ApproverKey {
  readonly person: string;
  /** First 16 hex digits of the SHA-256 of the raw key. */
  readonly keyId: string;
  /** Raw public key, base64url: Ed25519 (32 bytes) or P-256 (65 bytes, uncompressed). */
  readonly key: string;
  readonly label: string;
  readonly enrolledAt: string;
  /** Id of the sign-in that offered the key. The key ends with it. Absent if no sign-in did, or for a key of an earlier version. */
  readonly signIn?: string;
  /** Present if the key is a passkey. */
  readonly passkey?: PasskeyFacts;
}

/** What the signatures of a passkey (WebAuthn) are checked against. */
export interface PasskeyFacts {
  /** Id of the credential, base64url. */
  readonly credentialId: string;
  /** Name of the hub for which the passkey was made. */
  readonly rpId: string;
  /** Origin of the page on which the passkey was made. */
  readonly origin: string;
  /** Counter of the last signature; 0 for passkeys that do not count. */
  readonly signCount: number;
}

/** A key that a person wants to approve with. It counts only after an approver compared its id with the one that the person's device shows. */
export type OfferedKey = Omit<ApproverKey, 'enrolledAt'> & { readonly offeredAt: string };

/** Port: stores the keys of the approvers. */
export interface ApproverDirectory {
  /** Returns the keys that wait for an approver's comparison, the oldest first. */
  offers(): readonly OfferedKey[];
  /** Enrols an offered key. Rejects with NOT_FOUND, or as `enrol` does. */
  confirm(keyId: string): Promise<ApproverKey>;
  /** Drops an offered key. Rejects with NOT_FOUND. */
  refuseOffer(keyId: string): Promise<OfferedKey>;
  /** Returns the keys, sorted by person, then in the order of enrolment. */
  list(): readonly ApproverKey[];
  /** Enrols a key. Rejects with VALIDATION_ERROR (malformed name or key) or CONFLICT (key is already enrolled, or too many keys). */
  enrol(approver: Pick<ApproverKey, 'person' | 'key' | 'label'>): Promise<ApproverKey>;
  /** Removes a key. Rejects with NOT_FOUND if no such key is enrolled, and with CONFLICT if it is the last key on this hub. */
  remove(keyId: string): Promise<ApproverKey>;
}

/** A dangerous call that people must approve. */
export interface ApprovalRequest {
  readonly principal: Principal;
  readonly toolId: string;
  /** Title of the tool for people. */
  readonly title: string;
  /** Parameters with secrets masked, for people to read. */
  readonly params: JsonObject;
  /** SHA-256 (hex) over `plan` in canonical JSON (RFC 8785). It changes with the tool, its arguments and every definition that will run. */
  readonly callHash: string;
  readonly effects: readonly Effect[];
  readonly plan: PlannedCall;
  readonly personsNeeded: number;
  readonly traceId: string;
  /** The job of a call that waits for its approval and runs when it is approved. Absent for a call that its caller repeats. */
  readonly job?: WaitingJob;
}

/** A job that waits for an approval. */
export interface WaitingJob {
  readonly id: string;
  /** Id of the job's approval request. The job chooses it, so that the job and its request name each other. */
  readonly approvalId: string;
  /** True if the request was made before. If the call has changed since, no new request is made. */
  readonly hasAsked: boolean;
}

/** The queue's answer about a call: approved, waiting for people (`pending`), or denied. */
export type ApprovalStatus =
  | { readonly state: 'approved'; readonly approvalId: string; readonly by: readonly string[] }
  | {
      readonly state: 'pending';
      readonly approvalId: string;
      readonly expiresAt: string;
      /** Seconds for which the request may wait in all. */
      readonly waitsForS: number;
      readonly needed: number;
      readonly given: number;
      /** The request in a sentence for people. */
      readonly summary: string;
      /** Lines about each program and step that will run. */
      readonly willDo: readonly string[];
    }
  | { readonly state: 'denied'; readonly approvalId: string; readonly by: string; readonly expiresAt: string };

/** A person's refusal of a device to an agent. */
export interface DeviceRefusal {
  readonly id: string;
  readonly by: string;
  /** Id of a refused device that the call would change. */
  readonly device: string;
}

/**
 * Port: stores the approvals of dangerous calls. One approval permits one principal to make one call once. An approval for an hour permits
 * it to make the same call again.
 */
export interface ApprovalQueue {
  /**
   * Returns the status of the call's request. If it is approved, uses it up. If the call has no request, stores one and emits an event.
   * Rejects with CONFLICT if a waiting job's call is no longer the one of its request.
   */
  check(request: ApprovalRequest): Promise<ApprovalStatus>;
  /** Returns the status of the call's request without using it up. If the call has no request, stores one and emits an event. */
  peek(request: ApprovalRequest): Promise<ApprovalStatus>;
  /**
   * Returns who has approved a call that runs now, for a step of it: those whose keys are still enrolled and who may still approve, and nobody
   * once the time in which the approved call can be made, or the hour, is over.
   */
  stillApprovedBy(approvalId: string, principal: Principal): readonly string[];
  /** Makes a used approval usable again until it expires. Called when the approved call had no effect. */
  giveBack(approvalId: string): void;
  /** Returns a refusal of a device that the call would change; undefined if there is none. A refusal holds for an agent's descendants too. */
  refusalOf(principal: Principal, effects: readonly Effect[]): DeviceRefusal | undefined;
  /** Closes an open request whose job has ended, so that nobody decides about it any more. Does nothing for any other request. */
  withdraw(approvalId: string): void;
}

/** Maximum length of a parameter's value in a sentence, in characters. `params` has the whole value. */
const MAX_SHOWN_LENGTH = 120;
const PLAIN = /^[\w.:@/+-]{1,64}$/;
const SECRET = '[secret]';

type DevicesByName = ApprovalView['devices'];

/** Returns the request in one line, without ids: `kitchen wants: Unlock Front door (hall) (pin: [secret])`. */
export function approvalSummary(view: ApprovalView): string {
  return `${view.agent_id} wants: ${callText(view)}`;
}

/** Returns a call in one line, without ids: `Unlock Front door (hall) (pin: [secret])`. */
export function callText(
  { effects, devices, runs, ...call }: Pick<ApprovalView, 'effects' | 'devices' | 'runs' | 'tool' | 'title' | 'params'>,
  words = ENGLISH_CALL,
): string {
  const steps = runs?.steps?.length ?? 0;
  const work = runs?.program ? words.runs(programName(runs.program)) : steps > 0 ? words.inSteps(steps) : '';
  const targets = effects.map(({ target }) => target);
  return describeCall({ ...call, targets, reads: [...readsIn(effects)] }, { devices, work, wording: shortValue, words });
}

/** Returns one line for the call's program and one for each step, with all arguments. Returns no lines if the call has neither. */
export function plannedStepLines({ runs, devices }: Pick<ApprovalView, 'runs' | 'devices'>): readonly string[] {
  if (!runs) return [];
  return [...(runs.program ? [programLine(runs.program)] : []), ...stepLines(runs, devices, '')];
}

function stepLines({ steps = [] }: PlannedCall, devices: DevicesByName, above: string): readonly string[] {
  return steps.flatMap((step, index) => {
    const number = `${above}${index + 1}.`;
    const what =
      step.definition === ''
        ? `${shortValue(step.tool)}, which no tool is called now${inBrackets(step.params, fullValue)}`
        : describeCall(step, { devices, work: '', wording: fullValue, words: ENGLISH_CALL });
    const program = step.program ? `. ${programLine(step.program)}` : '';
    return [`${number} ${what}${program}`, ...stepLines(step, devices, number)];
  });
}

interface CallWording {
  readonly devices: DevicesByName;
  /** What the call runs; empty if it runs nothing. */
  readonly work: string;
  readonly wording: (value: Json) => string;
  readonly words: CallWords;
}

/**
 * Returns a call in words, with its arguments. The effects come first, because the title is only what the tool's author chose. Omits a
 * title that adds nothing to the effects. Names the tool's id only if the call has no targets.
 */
function describeCall(
  { title, tool, params, targets, reads }: Pick<PlannedCall, 'title' | 'tool' | 'params' | 'targets' | 'reads'>,
  { devices, work, wording, words }: CallWording,
): string {
  const others = targets.filter((target) => target !== tool);
  const { does, touches } = describeTargets(others, devices, { reads: new Set(reads), words });
  const isRaw = isRawCall(params, targets);
  const given = inBrackets(furtherParams(params, { targets, devices, isRaw }), wording);
  if (does !== '' && touches === '' && work === '' && (isRaw || isTitleOfActions(title, targets))) return `${does}${given}`;
  const named = `${nameText(title)}${given}`;
  return does === '' && touches === '' ? words.byTool(named, tool, work) : words.call(named, { work, does, touches });
}

/** Returns whether every target has the `cluster` and the `command` (or `attribute`) that the parameters name. */
function isRawCall({ cluster, command, attribute }: JsonObject, targets: readonly string[]): boolean {
  const elements = targets.map(deviceElement);
  return elements.length > 0 && elements.every((one) => one && one.cluster === cluster && one.element === (command ?? attribute));
}

function isTitleOfActions(title: string, targets: readonly string[]): boolean {
  return targets.map(deviceElement).every((element) => element && verbOf(element)?.toLowerCase() === title.toLowerCase());
}

/** Returns the parameters that the text about the targets does not mention. */
function furtherParams(
  params: JsonObject,
  { targets, devices, isRaw }: { readonly targets: readonly string[]; readonly devices: DevicesByName; readonly isRaw: boolean },
): JsonObject {
  const isNamed = (id: Json) => devices.some((device) => device.id === id) && targets.some((target) => target.split('/', 1)[0] === id);
  const isSaid = (name: string, value: Json) =>
    (name === 'device_id' && isNamed(value)) ||
    (isRaw && ['cluster', 'command', 'attribute'].includes(name)) ||
    (isRaw && (name === 'endpoint' || (name === 'params' && JSON.stringify(value) === '{}')));
  return Object.fromEntries(Object.entries(params).filter(([name, value]) => !isSaid(name, value)));
}

function programLine({ args, cwd, powers, ...program }: PlannedProgram): string {
  const given = args.length > 0 ? ` with ${args.map(fullValue).join(' ')}` : '';
  const where = cwd === undefined ? '' : ` in ${fullValue(cwd)}`;
  const may = powers.flatMap(({ name, allows }) => allows.map((power) => `${power} (${name})`));
  return `Runs ${programName(program)}${given}${where}. It may ${may.length > 0 ? may.join(', ') : 'reach nothing of the home'}`;
}

function programName({ kind, program }: Pick<PlannedProgram, 'kind' | 'program'>): string {
  return `the ${kind === 'cmd' ? 'program' : kind} ${fullValue(program)}`;
}

function inBrackets(params: JsonObject, wording: (value: Json) => string = shortValue): string {
  const given = Object.entries(params).map(([name, value]) => `${shortValue(name)}: ${wording(value)}`);
  return given.length > 0 ? ` (${given.join(', ')})` : '';
}

/** Returns a value as short text. Quotes it unless it is a plain word, so that it cannot look like part of the sentence. */
function shortValue(value: Json): string {
  const text = fullValue(value);
  const hidden = text.length - MAX_SHOWN_LENGTH;
  return hidden <= 0 ? text : `${text.slice(0, MAX_SHOWN_LENGTH)}… and ${hidden} characters more, see params`;
}

/** Returns a value like `shortValue`, but not shortened. Used for programs and steps. */
function fullValue(value: Json): string {
  if (value === SECRET || (typeof value === 'string' && PLAIN.test(value))) return String(value);
  return escapeAllHidden(JSON.stringify(value));
}
