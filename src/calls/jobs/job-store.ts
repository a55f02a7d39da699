import { randomBytes, randomUUID } from 'node:crypto';
import { type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, type ErrorBody } from '../../core/errors.ts';
import type { JobId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject, present } from '../../core/json.ts';
import { visibleJson, visibleText } from '../../core/untrusted-text.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { maskResult, withoutSecretTexts } from '../../tools/schema/secrets.ts';
import { type CallAnswer, hasEnded, JOB_STATUSES, type JobView } from '../request-and-answer.ts';

const SPACE = 'jobs';
const KEPT_MS = 3_600_000;
/** Milliseconds for which a finished job is listed. The result of the job is deleted earlier, after `KEPT_MS`. */
const KNOWN_MS = 2 * KEPT_MS;
/** Maximum total length of the stored results of a caller and its descendants, in characters of JSON text. */
const MAX_RESULTS_LENGTH = 8_388_608;

/** Maximum length of the encrypted call of a waiting job, in characters. */
const MAX_SEALED_LENGTH = 262_144;

const STATUSES: ReadonlySet<string> = new Set(JOB_STATUSES);

/** A waiting job and its encrypted call. */
export interface WaitingJobRecord {
  readonly id: JobId;
  readonly approvalId: string;
  readonly sealed: string;
  /** Ids of the token with which the job was started, and of those that it comes from. */
  readonly tokenIds: readonly string[];
}

/** A running job as the pipeline sees it. */
export interface RunningJob {
  /** The job as it is now. */
  readonly view: JobView;
  /** Aborts when the job is cancelled. */
  readonly signal: AbortSignal;
  running(): void;
  /** Notes until when people can approve the call of a job that waits. */
  waitsUntil(time: string): void;
  progress(fraction: number, note?: string): void;
  /** Ends the job with its answer. `secrets` are texts that are removed from the result before it is written to the disk. */
  settle(answer: CallAnswer, secrets?: readonly string[]): void;
}

interface JobRecord {
  readonly ownerId: string;
  /** Ids of the caller's token and of its ancestors, root first. If one of these tokens is revoked, the job is aborted. */
  readonly tokenIds: readonly string[];
  readonly hasSideEffects: boolean;
  readonly view: JobView;
  /** The encrypted call of a job that waits for approval; deleted when the job starts or ends. */
  readonly sealed?: string;
  /** Length of the result's JSON text. */
  readonly length?: number;
}

type JobParts = Pick<HubContext, 'clock' | 'events' | 'store'>;

/** Stores jobs: calls that run on after their request was answered. Keeps results for an hour. Only the caller and the owner see a job. */
export class JobStore {
  readonly #parts: JobParts;
  readonly #maxJobs: number;
  readonly #jobs = new Map<string, JobRecord>();
  readonly #controllers = new Map<string, AbortController>();

  constructor(parts: JobParts, { maxJobs = 1_000 }: { readonly maxJobs?: number } = {}) {
    this.#parts = parts;
    this.#maxJobs = maxJobs;
  }

  /** Loads the jobs of the previous process. A job that had started and not finished becomes failed. A waiting job goes on waiting. */
  recover(): void {
    for (const { key, value } of this.#parts.store.entries(SPACE)) {
      const record = readRecord(value);
      if (!record) this.#parts.store.delete(SPACE, key);
      else this.#save(hasEnded(record.view) || record.sealed !== undefined ? record : orphaned(record, this.#isoNow()));
    }
  }

  /** Creates a queued job. Throws RESOURCE_EXCEEDED if the maximum number of jobs exists and all of them are unfinished. */
  create(owner: Principal, tool: RegisteredTool): RunningJob {
    this.#makeRoom();
    const id = randomUUID() as JobId;
    this.#save(this.#newRecord(owner, tool, { job_id: id, status: 'queued' }));
    return this.#runningJob(id, tool);
  }

  /**
   * Creates a job that waits for approval. It chooses the id of its request. `seal` returns the encrypted call. Throws like `create`, and
   * PAYLOAD_TOO_LARGE if the call is too long to be stored.
   */
  createWaiting(owner: Principal, tool: RegisteredTool, seal: (jobId: string) => string): RunningJob {
    this.#makeRoom();
    const id = randomUUID() as JobId;
    const sealed = seal(id);
    if (sealed.length > MAX_SEALED_LENGTH) {
      const advice = 'call it without waiting, and again once people have approved it';
      throw new AtmoError('PAYLOAD_TOO_LARGE', `The parameters of ${tool.id} are too long to wait for approval; ${advice}`);
    }
    const view = { job_id: id, status: 'waiting', approval_id: randomBytes(16).toString('hex') } as const;
    this.#save({ ...this.#newRecord(owner, tool, view), sealed });
    return this.#runningJob(id, tool);
  }

  /** Returns the jobs that wait for approval. */
  waiting(): readonly WaitingJobRecord[] {
    return [...this.#jobs.values()].flatMap(({ sealed, tokenIds, view: { job_id: id, approval_id: approvalId } }) =>
      sealed === undefined || approvalId === undefined ? [] : [{ id, approvalId, sealed, tokenIds }],
    );
  }

  /** Returns a waiting job, so that its call can be checked again. */
  resume(id: JobId): RunningJob {
    return this.#runningJob(id, undefined);
  }

  /** Queues a waiting job whose call has passed all checks. From now on the job cannot be resumed again. */
  begin(id: JobId, tool: RegisteredTool): RunningJob {
    this.#update(id, { status: 'queued' });
    return this.#runningJob(id, tool);
  }

  /** Ends a waiting job that will not run. Does nothing if it does not wait any more. */
  fail(id: JobId, error: AtmoError): void {
    if (this.#jobs.get(id)?.sealed !== undefined)
      this.#update(id, { status: 'failed', error: error.toBody(), finished_at: this.#isoNow() });
  }

  /** Returns the error of a job whose approval was used by a process that then ended. */
  lostError(id: JobId): AtmoError {
    return orphanError(this.#jobs.get(id)?.hasSideEffects ?? true);
  }

  /** Returns a job. Throws JOB_NOT_FOUND if there is no such job or it belongs to another caller. */
  get(id: string, principal: Principal): JobView {
    const record = this.#jobs.get(id);
    if (record && canRead(record, principal)) return this.#aged(record);
    throw new AtmoError(
      'JOB_NOT_FOUND',
      `No job ${JSON.stringify(id.slice(0, 64))} of ${principal.id} is known; results are kept for an hour`,
    );
  }

  /** Returns the principal's jobs, newest first. The owner gets all jobs. */
  list(principal: Principal): readonly JobView[] {
    const own = [...this.#jobs.values()].filter((record) => canRead(record, principal));
    return own.map((record) => this.#aged(record)).reverse();
  }

  /** Aborts an unfinished job, and returns the job. Throws like `get`. */
  cancel(id: string, principal: Principal): JobView {
    const view = this.get(id, principal);
    if (hasEnded(view)) return view;
    if (view.status === 'waiting') {
      const error = new AtmoError('CANCELLED', `The job ${id} was cancelled while it waited for approval; nothing was done`).toBody();
      this.#update(view.job_id, { status: 'cancelled', error, finished_at: this.#isoNow() });
    }
    this.#controllers.get(id)?.abort();
    return this.get(id, principal);
  }

  /** Aborts the unfinished jobs that were started with this token or one of its descendants. */
  cancelOf(tokenId: string): void {
    for (const { tokenIds, view } of [...this.#jobs.values()]) {
      if (!tokenIds.includes(tokenId)) continue;
      this.fail(view.job_id, new AtmoError('TOKEN_INVALID', 'The token was revoked while the job waited for approval; nothing was done'));
      this.#controllers.get(view.job_id)?.abort();
    }
  }

  #newRecord(owner: Principal, tool: RegisteredTool, state: Pick<JobView, 'job_id' | 'status' | 'approval_id'>): JobRecord {
    const { hasSideEffects } = tool.definition.execution;
    const view: JobView = { ...state, tool: tool.id, created_at: this.#isoNow() };
    return { ownerId: principalKey(owner), tokenIds: owner.token?.chain ?? [], hasSideEffects, view };
  }

  #runningJob(id: JobId, tool: RegisteredTool | undefined): RunningJob {
    const controller = this.#controllers.get(id) ?? new AbortController();
    this.#controllers.set(id, controller);
    const viewOf = () => this.#jobs.get(id)?.view;
    const known = viewOf();
    if (!known) throw new AtmoError('INTERNAL_ERROR', `The job ${id} does not exist`);
    return {
      get view() {
        return viewOf() ?? known;
      },
      signal: controller.signal,
      running: () => this.#update(id, { status: 'running' }),
      waitsUntil: (time) => this.#waitsUntil(id, time),
      progress: (fraction, note) =>
        this.#progress(id, { fraction: Math.min(1, Math.max(0, fraction)), ...(note !== undefined && { note }) }),
      settle: (answer, secrets = []) =>
        this.#settle(id, answer, (result) => withoutSecretTexts(maskResult(tool?.definition.returns ?? {}, result), secrets)),
    };
  }

  #settle(id: string, answer: CallAnswer, mask: (result: Json) => Json): void {
    this.#controllers.delete(id);
    const finished = { finished_at: this.#isoNow() };
    if (answer.status === 'success') this.#succeed(id, { status: 'succeeded', result: answer.result, ...finished }, mask);
    else this.#update(id, { status: answer.error.code === 'CANCELLED' ? 'cancelled' : 'failed', error: answer.error, ...finished });
  }

  /** Stores the result of a successful job. Secrets in the result, such as setup codes, are kept only in memory. */
  #succeed(id: string, change: Partial<JobView> & { readonly result: Json }, mask: (result: Json) => Json): void {
    const record = this.#jobs.get(id);
    if (!record || hasEnded(record.view)) return;
    const { sealed: _, ...rest } = record;
    const view = { ...record.view, ...change };
    this.#save({ ...rest, view, length: JSON.stringify(change.result).length }, { ...view, result: mask(change.result) });
    this.#dropResults(rootAgentOf(record.ownerId));
  }

  /** Deletes the oldest results of a caller and its descendants if the results are too long in total. */
  #dropResults(family: string): void {
    let total = 0;
    for (const record of [...this.#jobs.values()].filter((one) => rootAgentOf(one.ownerId) === family).reverse()) {
      const { length = 0, ...rest } = record;
      total += length;
      if (length > 0 && total > MAX_RESULTS_LENGTH) this.#save({ ...rest, view: withoutResult(record.view) });
    }
  }

  #update(id: string, change: Partial<JobView>): void {
    const record = this.#jobs.get(id);
    if (!record || hasEnded(record.view)) return;
    const { sealed: _, ...rest } = record;
    this.#save({ ...rest, view: { ...record.view, ...change } });
  }

  #waitsUntil(id: string, time: string): void {
    const record = this.#jobs.get(id);
    if (record?.sealed !== undefined && record.view.waits_until !== time)
      this.#save({ ...record, view: { ...record.view, waits_until: time } });
  }

  /** Emits progress without writing it to the disk: writes would wear out the disk, and a restart makes old progress useless. */
  #progress(id: string, progress: NonNullable<JobView['progress']>): void {
    const record = this.#jobs.get(id);
    if (!record || hasEnded(record.view)) return;
    this.#jobs.set(id, { ...record, view: { ...record.view, progress } });
    this.#parts.events.emit('job.changed', id, {
      job_id: id,
      tool: record.view.tool,
      status: record.view.status,
      progress: { ...progress },
    });
  }

  #save(record: JobRecord, kept: JobView = record.view): void {
    const { view } = record;
    this.#jobs.set(view.job_id, record);
    this.#parts.store.set(
      SPACE,
      view.job_id,
      copyJsonObject({ ...record, view: kept }, RESULT_LIMITS),
      hasEnded(view) ? { ttlMs: KNOWN_MS } : {},
    );
    this.#parts.events.emit('job.changed', view.job_id, { job_id: view.job_id, tool: view.tool, status: view.status });
  }

  /** Returns the job as callers see it. An hour after its end, the job has no result and the status `expired`. */
  #aged(record: JobRecord): JobView {
    const { view } = record;
    if (view.finished_at === undefined || this.#parts.clock.now() - Date.parse(view.finished_at) < KEPT_MS) return view;
    return withoutResult(view);
  }

  #makeRoom(): void {
    for (const { view } of [...this.#jobs.values()].filter((record) => this.#isOutdated(record.view))) this.#remove(view.job_id);
    if (this.#jobs.size < this.#maxJobs) return;
    // The oldest finished job of the caller with the most finished jobs is deleted. A caller thus cannot displace others' results.
    const finished = [...this.#jobs.values()].filter((record) => hasEnded(record.view));
    const families = [...Map.groupBy(finished, ({ ownerId }) => rootAgentOf(ownerId)).values()].sort((a, b) => b.length - a.length);
    const oldest = families[0]?.[0];
    if (!oldest) throw new AtmoError('RESOURCE_EXCEEDED', `${this.#maxJobs} jobs are running; wait for one or cancel one`);
    this.#remove(oldest.view.job_id);
  }

  #isOutdated(view: JobView): boolean {
    return view.finished_at !== undefined && this.#parts.clock.now() - Date.parse(view.finished_at) >= KNOWN_MS;
  }

  #remove(id: string): void {
    this.#jobs.delete(id);
    this.#parts.store.delete(SPACE, id);
  }

  #isoNow(): string {
    return isoTime(this.#parts.clock.now());
  }
}

const TOOL = /^[A-Za-z0-9_:.@/+-]{1,256}$/;
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Returns the job in another hub's answer; undefined if there is none. Only known members are taken, and texts are made safe to show: sentences
 * for models and people are written with them. The result is data and stays as it is.
 */
export function parseJobView(answer: unknown): JobView | undefined {
  const value = answer as Json | undefined;
  if (!isJsonObject(value)) return undefined;
  const { job_id: id, tool, status, approval_id: approvalId, progress, error, result } = value;
  const [createdAt, waitsUntil, finishedAt] = [value.created_at, value.waits_until, value.finished_at].map(instantText);
  if (!isId(id) || typeof tool !== 'string' || !TOOL.test(tool) || !STATUSES.has(String(status)) || createdAt === undefined)
    return undefined;
  return {
    ...({ job_id: id, tool, status, created_at: createdAt } as unknown as JobView),
    ...present({ approval_id: isId(approvalId) ? approvalId : undefined, waits_until: waitsUntil, finished_at: finishedAt }),
    ...(isJsonObject(progress) && typeof progress.fraction === 'number' && { progress: parseProgress(progress, progress.fraction) }),
    ...(status === 'succeeded' && result !== undefined && { result }),
    ...(isJsonObject(error) && { error: visibleJson(error) as unknown as ErrorBody }),
  };
}

function parseProgress({ note }: JsonObject, fraction: number): NonNullable<JobView['progress']> {
  return { fraction, ...(typeof note === 'string' && { note: visibleText(note) }) };
}

function isId(value: Json | undefined): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** Returns an instant as RFC 3339 text in UTC; undefined if the value is none. */
function instantText(value: Json | undefined): string | undefined {
  const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : isoTime(atMs);
}

function withoutResult({ result: _, error: __, ...rest }: JobView): JobView {
  return { ...rest, status: 'expired' };
}

function canRead(record: JobRecord, principal: Principal): boolean {
  return record.ownerId === principalKey(principal) || principal.kind === 'owner';
}

function orphaned(record: JobRecord, finishedAt: string): JobRecord {
  const error = orphanError(record.view.status === 'running' && record.hasSideEffects);
  return { ...record, view: { ...record.view, status: 'failed', error: error.toBody(), finished_at: finishedAt } };
}

function orphanError(mayHaveActed: boolean): AtmoError {
  return mayHaveActed
    ? new AtmoError('OUTCOME_UNKNOWN', 'The hub stopped while the job was running; read the state before starting it again')
    : new AtmoError('SHUTTING_DOWN', 'The hub stopped before the job was done; nothing of it takes effect, start it again');
}

function readRecord(value: Json): JobRecord | undefined {
  if (!isJsonObject(value) || typeof value.ownerId !== 'string' || !isJsonObject(value.view)) return undefined;
  return { tokenIds: [], ...value } as unknown as JobRecord;
}
