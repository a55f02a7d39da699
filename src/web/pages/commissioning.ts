import { COMMISSION_STEPS, type CommissionStep } from '../../core/devices/device-administration.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import type { HomeStore } from '../api/home-store.ts';
import { type HubClient, HubError, messageOf } from '../api/hub-client.ts';
import { text } from '../texts/text.ts';

interface CommissioningParts {
  readonly hub: Pick<HubClient, 'get' | 'post' | 'delete'>;
  readonly store: Pick<HomeStore, 'onEvent'>;
  /** Called when the progress has changed. */
  onChange(): void;
}

interface Progress {
  readonly state: 'idle' | 'running' | 'done' | 'failed';
  readonly steps: CommissionSteps;
  /** Why the commissioning failed, and what a person at the device can do about it. */
  readonly failure?: { readonly reason: string; readonly advice: string };
  readonly devices: readonly { readonly id: string; readonly name: string }[];
  /** Problems with the manufacturer's certificates. If the commissioning failed because of them, a person may accept the device anyway. */
  readonly findings: readonly string[];
}

/** Runs the commissioning of one device as a job of the hub and tracks its steps. The job continues if the person leaves the page. */
export class Commissioning {
  readonly #parts: CommissioningParts;
  #progress = idle();
  #request: JsonObject = {};
  #jobId: string | undefined;
  #stopListening: (() => void) | undefined;

  constructor(parts: CommissioningParts) {
    this.#parts = parts;
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** Starts commissioning. `request` is a body of `POST /api/v1/commission`. */
  async begin(request: JsonObject): Promise<void> {
    this.reset();
    this.#request = request;
    this.#update({ state: 'running' });
    this.#stopListening = this.#parts.store.onEvent(({ type, subject, data }) => {
      if (type === 'job.changed' && subject === this.#jobId) void this.#onJobChanged(data);
    });
    try {
      const job = await this.#parts.hub.post('/api/v1/commission?async=true', request);
      this.#jobId = String(job.job_id);
      // Events of the job were ignored until its id was known. Its current state is therefore loaded now.
      await this.#load();
    } catch (error) {
      this.#fail(error);
    }
  }

  async acceptFindings(): Promise<void> {
    await this.begin({ ...this.#request, accept_attestation: true });
  }

  /** Asks the hub to stop the commissioning. Settings that the device has already received stay on the device. */
  async cancel(): Promise<void> {
    if (this.#jobId !== undefined) await this.#parts.hub.delete(`/api/v1/jobs/${this.#jobId}`).catch(() => undefined);
  }

  reset(): void {
    this.stop();
    this.#jobId = undefined;
    this.#progress = idle();
    this.#parts.onChange();
  }

  /** Stops listening to the job. The job itself continues. */
  stop(): void {
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  #update(change: Partial<Progress>): void {
    this.#progress = { ...this.#progress, ...change };
    this.#parts.onChange();
  }

  async #onJobChanged(data: JsonObject): Promise<void> {
    if (isJsonObject(data.progress)) this.#advance(data.progress);
    else if (data.status !== 'queued' && data.status !== 'running') await this.#load();
  }

  async #load(): Promise<void> {
    if (this.#progress.state !== 'running' || this.#jobId === undefined) return;
    const job = await this.#parts.hub.get(`/api/v1/jobs/${this.#jobId}`).catch((error: unknown) => this.#fail(error));
    if (!job) return;
    if (isJsonObject(job.progress)) this.#advance(job.progress);
    if (job.status === 'succeeded') this.#finish(job.result ?? null);
    else if (job.status !== 'queued' && job.status !== 'running') this.#fail(job.error);
  }

  #advance({ note }: JsonObject): void {
    if (typeof note === 'string') this.#progress.steps.advance(note);
    this.#parts.onChange();
  }

  #finish(result: Json): void {
    const { devices, findings } = objectOf(result);
    this.#progress.steps.finish();
    this.stop();
    this.#update({
      state: 'done',
      devices: objectsOf(devices).map(({ id, name }) => ({ id: String(id), name: String(name) })),
      findings: textsOf(findings),
    });
  }

  #fail(error: unknown): void {
    const { message = messageOf(error), details = {} } = error instanceof HubError ? error : objectOf(error);
    const { reason, advice, step, findings } = objectOf(details);
    this.#progress.steps.fail(typeof step === 'string' ? step : undefined);
    this.stop();
    this.#update({
      state: 'failed',
      failure: {
        reason: reasonWords(reason),
        advice: String(advice ?? message),
      },
      findings: textsOf(findings),
    });
  }
}

function idle(): Progress {
  return { state: 'idle', steps: new CommissionSteps(), devices: [], findings: [] };
}

const REASONS = [
  'not_found',
  'wrong_passcode',
  'window_closed',
  'already_commissioned',
  'attestation_refused',
  'network_credentials_missing',
  'network_rejected',
  'device_full',
  'unreachable',
  'not_joined',
  'timeout',
] as const;

/** Returns the reason of a failure in words. `reason` comes from the device's refusal; without one, the hub itself refused. */
function reasonWords(reason: unknown): string {
  const known = REASONS.find((one) => one === reason);
  if (known) return text(`add_device.reason_${known}`);
  return typeof reason === 'string' ? text('add_device.refused_by_device') : text('add_device.refused_by_hub');
}

/** One line of the list of steps. */
export interface StepLine {
  readonly step: CommissionStep;
  readonly title: string;
  readonly state: 'waiting' | 'current' | 'done' | 'failed';
  /** The hub's last note about this step. */
  readonly note: string;
}

/** Tracks the steps of a commissioning. The job reports its progress in notes of the form `<step>: <text>`. */
export class CommissionSteps {
  readonly #notes = new Map<CommissionStep, string>();
  #current: CommissionStep | undefined;
  #end: 'done' | 'failed' | undefined;

  /** Handles a progress note of the job. The step in the note becomes the current step. Ignores a note without a known step. */
  advance(note: string): void {
    const [name = '', ...rest] = note.split(': ');
    const step = COMMISSION_STEPS.find((known) => known === name);
    if (!step) return;
    this.#current = step;
    this.#notes.set(step, rest.join(': '));
  }

  /** Marks a step as failed: `step` if it is a known step, and otherwise the current step. */
  fail(step?: string): void {
    this.#current = COMMISSION_STEPS.find((known) => known === step) ?? this.#current ?? 'parse';
    this.#end = 'failed';
  }

  finish(): void {
    this.#current = 'done';
    this.#end = 'done';
  }

  /** Returns a line for each step. The step `network` has a line only if the job has reported it. */
  lines(): readonly StepLine[] {
    const currentIndex = this.#current === undefined ? -1 : COMMISSION_STEPS.indexOf(this.#current);
    const shown = COMMISSION_STEPS.filter((step) => step !== 'network' || this.#notes.has(step) || this.#current === step);
    return shown.map((step) => ({
      step,
      title: text(`add_device.step_${step}`),
      state: this.#stateAt(COMMISSION_STEPS.indexOf(step), currentIndex),
      note: this.#notes.get(step) ?? '',
    }));
  }

  #stateAt(index: number, currentIndex: number): StepLine['state'] {
    if (index < currentIndex || (index === currentIndex && this.#end === 'done')) return 'done';
    if (index > currentIndex) return 'waiting';
    return this.#end === 'failed' ? 'failed' : 'current';
  }
}

/** A valid setup code, or a description of the mistake in the text, so that the person can correct it. */
export type SetupCode = { readonly code: string } | { readonly mistake: string };

const QR_TEXT = /^MT:[0-9A-Z.-]{19,}$/;
const SEPARATORS = /[\s.\u2010-\u2015-]/g;

/** Parses a setup code. It is the text of a QR code, or a pairing code of 11 or 21 digits (Matter Core §5.1.3, §5.1.4). */
export function readSetupCode(typed: string): SetupCode {
  const trimmed = typed.trim();
  if (/^mt:/i.test(trimmed)) return readQrText(trimmed.replaceAll(/\s/g, '').toUpperCase());
  const digits = trimmed.replaceAll(SEPARATORS, '');
  if (digits === '') return { mistake: text('add_device.code_empty') };
  if (!/^\d+$/.test(digits)) return { mistake: text('add_device.code_letters') };
  if (digits.length !== 11 && digits.length !== 21) return { mistake: text('add_device.code_length', { digits: digits.length }) };
  return isVerhoeff(digits) ? { code: digits } : { mistake: text('add_device.code_digit') };
}

function readQrText(content: string): SetupCode {
  return QR_TEXT.test(content) ? { code: content } : { mistake: text('add_device.code_qr') };
}

const FIRST_PERMUTATION = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/** Checks the last digit, a Verhoeff check digit. It detects every single wrong digit and every swap of adjacent digits. */
function isVerhoeff(digits: string): boolean {
  let check = 0;
  for (const [position, digit] of [...digits].reverse().entries()) check = times(check, permuted(Number(digit), position % 8));
  return check === 0;
}

function permuted(digit: number, rounds: number): number {
  return rounds === 0 ? digit : permuted(FIRST_PERMUTATION[digit] ?? 0, rounds - 1);
}

/** Returns the product of two elements of the dihedral group D5, on which Verhoeff's check is based. */
function times(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5);
  return b < 5 ? 5 + ((a - b) % 5) : (a - b + 5) % 5;
}
