import type { ExpectedChange } from '../../core/devices/device-states.ts';
import type { ErrorBody } from '../../core/errors.ts';
import { type Json, objectOf, textsOf } from '../../core/json.ts';
import type { PendingCall } from './approvals.ts';
import type { HubClient } from './hub-client.ts';
import { Observable } from './observable.ts';

const UNDO_TOOL = 'hub:undo';

/** What a call touches, such as `front-door/1/DoorLock/UnlockDoor`, with the permission that it needs for it. */
interface UndoEffect {
  readonly target: string;
  readonly permission: string;
  readonly risk: string;
}

/** What an undo would do, as a rehearsal of `hub:undo` tells it. */
export interface UndoPreview {
  readonly outcome: 'would_run' | 'needs_approval' | 'would_be_refused' | 'not_known';
  readonly risk: 'none' | 'low' | 'medium' | 'dangerous';
  readonly effects: readonly UndoEffect[];
  readonly changes: readonly ExpectedChange[];
  /** The calls by which it brings back what is no value of a device, such as a flag, a scene or a name. */
  readonly calls: readonly RestoringCall[];
  readonly error?: UndoError;
}

/** A call that an undo makes. */
export interface RestoringCall {
  readonly tool: string;
  readonly effects: readonly UndoEffect[];
  /** What it changes, such as `area_name/hall`. */
  readonly places?: readonly string[];
  readonly error?: UndoError;
}

type UndoError = Pick<ErrorBody, 'code' | 'message' | 'details'>;

/** Calls that a person may want to undo: all calls of one trace. */
export interface UndoableCalls {
  readonly traceId: string;
  /** What was done, in words, such as `Turn on Hall light`. */
  readonly label: string;
  /** How many calls are undone together, if it is known. */
  readonly calls?: number;
}

/** An undo about which the person has to decide, with what it would do. */
export interface UndoQuestion extends UndoableCalls {
  readonly preview: UndoPreview;
}

/** The outcome of an undo. */
export interface UndoEnd extends UndoableCalls {
  /** The other hubs that ran some of the calls. Each of them undoes its own only when it is asked. */
  readonly elsewhere?: readonly string[];
  readonly error?: unknown;
}

/** What the undo of calls needs of the page. */
interface UndoParts {
  readonly hub: Pick<HubClient, 'post'>;
  /** Calls a tool. Returns undefined if the call waits for approval. */
  readonly call: (request: Pick<PendingCall, 'tool' | 'params' | 'label'>) => Promise<Json | undefined>;
  /** Returns the name of the call that undoes `label`. */
  readonly labelOf: (label: string) => string;
}

/** Asks the hub what an undo would do. Throws HubError if it cannot tell. */
export function rehearseUndo(hub: Pick<HubClient, 'post'>, traceId: string): Promise<UndoPreview> {
  return hub.post(`/api/v1/tools/${encodeURIComponent(UNDO_TOOL)}/invoke?rehearse=true`, { trace_id: traceId });
}

/** Returns whether an undo has something to put back. What the person may not read counts as changed. */
export function putsSomethingBack({ changes, calls }: Pick<UndoPreview, 'changes' | 'calls'>): boolean {
  return calls.length > 0 || changes.some(isChange);
}

/** Returns why an undo is refused: its own error or that of a call that it makes; undefined if it is not. */
export function refusalOf({ error, calls }: Pick<UndoPreview, 'error' | 'calls'>): UndoError | undefined {
  return error ?? calls.find((call) => call.error !== undefined)?.error;
}

/** Returns whether a value becomes another one. A value that the person may not read may do so. */
export function isChange({ now, expected }: ExpectedChange): boolean {
  return now === undefined || JSON.stringify(now) !== JSON.stringify(expected);
}

/** Returns whether an undo needs no question: it undoes one call, nothing of it is dangerous, and all that it puts back is known. */
function isPlain(preview: UndoPreview, { calls = 1 }: UndoableCalls): boolean {
  const { outcome, risk, changes } = preview;
  const isKnown = changes.every(({ unforeseen }) => unforeseen !== true);
  return calls === 1 && outcome === 'would_run' && risk !== 'dangerous' && isKnown && isOfOneKind(preview);
}

/** Returns whether an undo puts back either values of devices or one thing that the hub keeps. */
function isOfOneKind({ calls, changes }: UndoPreview): boolean {
  return calls.length === 0 || (calls.length === 1 && !changes.some(isChange));
}

/** Undoes calls. Asks the person first where an undo is dangerous, needs an approval, is refused, or has an outcome that is not known. */
export class CallUndo extends Observable {
  readonly #parts: UndoParts;
  readonly #listeners = new Set<(end: UndoEnd) => void>();
  #question: UndoQuestion | undefined;
  #offers = 0;

  constructor(parts: UndoParts) {
    super();
    this.#parts = parts;
  }

  /** The undo about which the person has to decide; undefined if there is none. */
  get question(): UndoQuestion | undefined {
    return this.#question;
  }

  /** Returns whether calls that have just ended can be undone. Returns false once another call is asked about. */
  async isOffered({ traceId }: Pick<UndoableCalls, 'traceId'>): Promise<boolean> {
    const offer = ++this.#offers;
    // An offer is a service to the person: without an answer of the hub there is none, and the call has succeeded all the same.
    const preview = await rehearseUndo(this.#parts.hub, traceId).catch(() => undefined);
    const isPossible = preview?.outcome === 'would_run' || preview?.outcome === 'needs_approval';
    return isPossible && offer === this.#offers && putsSomethingBack(preview);
  }

  /** Calls `listener` with the outcome of each undo. Returns a function that removes the listener. */
  onEnd(listener: (end: UndoEnd) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Undoes calls, or asks the person first. The listeners get the outcome. */
  async undo(calls: UndoableCalls): Promise<void> {
    try {
      const preview = await rehearseUndo(this.#parts.hub, calls.traceId);
      if (isPlain(preview, calls)) await this.#run(calls);
      else this.#ask({ ...calls, preview });
    } catch (error) {
      this.#emit({ ...calls, error });
    }
  }

  /** Undoes what the question is about. */
  async confirm(): Promise<void> {
    const question = this.#question;
    this.#ask(undefined);
    if (question) await this.#run(question).catch((error: unknown) => this.#emit({ ...question, error }));
  }

  dismiss(): void {
    this.#ask(undefined);
  }

  async #run({ traceId, label }: UndoableCalls): Promise<void> {
    const result = await this.#parts.call({ tool: UNDO_TOOL, params: { trace_id: traceId }, label: this.#parts.labelOf(label) });
    // Without a result it waits for an approval, about which the page asks as for every call.
    if (result !== undefined) this.#emit({ traceId, label, elsewhere: textsOf(objectOf(result).elsewhere) });
  }

  #ask(question: UndoQuestion | undefined): void {
    this.#question = question;
    this.changed();
  }

  #emit(end: UndoEnd): void {
    for (const listener of this.#listeners) listener(end);
  }
}
