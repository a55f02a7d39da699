import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts';
import type { HubClient } from '../../api/hub-client.ts';
import { HubError, messageOf } from '../../api/hub-error.ts';
import type { EventHearer } from '../../api/store.ts';
import { CommissionSteps } from './commission-steps.ts';

interface CommissioningParts {
  readonly hub: Pick<HubClient, 'get' | 'post' | 'delete'>;
  readonly store: { onEvent(hearer: EventHearer): () => void };
  /** Something that is shown is different now. */
  onChange(): void;
}

/** Why it did not work, for a person who holds the device in the hand. */
export interface CommissionFailure {
  readonly reason: string;
  readonly advice: string;
  /** What speaks against the maker's certificates; a person may take the device all the same. */
  readonly findings: readonly string[];
}

interface NewDevice {
  readonly id: string;
  readonly name: string;
}

/** One device on its way into the home: a job of the hub that tells its steps. It goes on when nobody looks. */
export class Commissioning {
  readonly #parts: CommissioningParts;
  #steps = new CommissionSteps();
  #state: 'idle' | 'running' | 'done' | 'failed' = 'idle';
  #failure: CommissionFailure | undefined;
  #devices: readonly NewDevice[] = [];
  #findings: readonly string[] = [];
  #request: JsonObject = {};
  #jobId: string | undefined;
  #stopHearing: (() => void) | undefined;

  constructor(parts: CommissioningParts) {
    this.#parts = parts;
  }

  get state(): 'idle' | 'running' | 'done' | 'failed' {
    return this.#state;
  }

  get steps(): CommissionSteps {
    return this.#steps;
  }

  get failure(): CommissionFailure | undefined {
    return this.#failure;
  }

  /** What came of it. */
  get devices(): readonly NewDevice[] {
    return this.#devices;
  }

  /** What could not be proved of a device that was taken all the same. */
  get findings(): readonly string[] {
    return this.#findings;
  }

  /** Starts with a code and what else `POST /api/v1/commission` takes. */
  async begin(request: JsonObject): Promise<void> {
    this.reset();
    this.#request = request;
    this.#state = 'running';
    this.#parts.onChange();
    this.#stopHearing = this.#parts.store.onEvent(({ type, subject, data }) => {
      if (type === 'job.changed' && subject === this.#jobId) void this.#hear(data);
    });
    try {
      const job = await this.#parts.hub.post('/api/v1/commission?async=true', request);
      this.#jobId = String(job.job_id);
      // What happened before the id was known was told to nobody here.
      await this.#look();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Repeats it after a person has seen what speaks against the device. */
  async acceptFindings(): Promise<void> {
    await this.begin({ ...this.#request, accept_attestation: true });
  }

  /** Asks the hub to stop; what has reached the device stays. */
  async cancel(): Promise<void> {
    if (this.#jobId !== undefined) await this.#parts.hub.delete(`/api/v1/jobs/${this.#jobId}`).catch(() => undefined);
  }

  reset(): void {
    this.stop();
    this.#steps = new CommissionSteps();
    this.#state = 'idle';
    this.#failure = undefined;
    this.#devices = [];
    this.#findings = [];
    this.#jobId = undefined;
    this.#parts.onChange();
  }

  /** Hears no more of it. */
  stop(): void {
    this.#stopHearing?.();
    this.#stopHearing = undefined;
  }

  async #hear(data: JsonObject): Promise<void> {
    if (isJsonObject(data.progress)) this.#advance(data.progress);
    else if (data.status !== 'queued' && data.status !== 'running') await this.#look();
  }

  async #look(): Promise<void> {
    if (this.#state !== 'running' || this.#jobId === undefined) return;
    const job = await this.#parts.hub.get(`/api/v1/jobs/${this.#jobId}`).catch((error: unknown) => this.#fail(error));
    if (!job) return;
    if (isJsonObject(job.progress)) this.#advance(job.progress);
    if (job.status === 'succeeded') this.#finish(job.result ?? null);
    else if (job.status !== 'queued' && job.status !== 'running') this.#fail(job.error);
  }

  #advance({ note }: JsonObject): void {
    if (typeof note === 'string') this.#steps.hear(note);
    this.#parts.onChange();
  }

  #finish(result: Json): void {
    const devices = isJsonObject(result) && Array.isArray(result.devices) ? result.devices.filter(isJsonObject) : [];
    this.#findings = isJsonObject(result) && Array.isArray(result.findings) ? result.findings.map(String) : [];
    this.#devices = devices.map(({ id, name }) => ({ id: String(id), name: String(name) }));
    this.#steps.finish();
    this.#end('done');
  }

  #fail(error: unknown): void {
    const told = isJsonObject(error) ? error : undefined;
    const thrown = error instanceof HubError ? error : undefined;
    const details = thrown?.details ?? (isJsonObject(told?.details) ? told.details : {});
    const findings = Array.isArray(details.findings) ? details.findings.map(String) : [];
    const message = typeof told?.message === 'string' ? told.message : messageOf(error);
    this.#failure = {
      reason: typeof details.reason === 'string' ? reasonWords(details.reason) : 'The hub refused it.',
      advice: typeof details.advice === 'string' ? details.advice : message,
      findings,
    };
    this.#steps.fail(typeof details.step === 'string' ? details.step : undefined);
    this.#end('failed');
  }

  #end(state: 'done' | 'failed'): void {
    this.#state = state;
    this.stop();
    this.#parts.onChange();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  not_found: 'The device was not found.',
  wrong_passcode: 'The code is not the one of this device.',
  window_closed: 'The device takes no pairing now.',
  already_commissioned: 'The device is in this home already.',
  attestation_refused: 'The device cannot prove who made it.',
  network_credentials_missing: 'The device needs a network to join.',
  network_rejected: 'The device could not join the network.',
  device_full: 'The device is in as many homes as it can be.',
  unreachable: 'The device does not answer any more.',
  not_joined: 'The device did not show up in the network.',
  timeout: 'The device was too slow.',
};

function reasonWords(reason: string): string {
  return REASONS[reason] ?? 'The device refused.';
}
