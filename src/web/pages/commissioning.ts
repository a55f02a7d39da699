import { COMMISSION_STEPS, type CommissionStep } from '../../core/devices/device-administration.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { HubEventListener } from '../api/home-store.ts';
import { type HubClient, HubError, messageOf } from '../api/hub-client.ts';

interface CommissioningParts {
  readonly hub: Pick<HubClient, 'get' | 'post' | 'delete'>;
  readonly store: { onEvent(hearer: HubEventListener): () => void };
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
    if (typeof note === 'string') this.#steps.advance(note);
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

/** What a person waits for, in the order in which it happens. */
const TITLES: Readonly<Record<CommissionStep, string>> = {
  parse: 'Read the code',
  discover: 'Look for the device',
  connect: 'Connect with the passcode',
  attest: 'Check who made it',
  network: 'Give it the network',
  join: 'Bring it into this home',
  interview: 'Ask what it can do',
  record: 'Write it down',
  done: 'Ready',
};

/** One line of the list of steps. */
export interface StepLine {
  readonly step: CommissionStep;
  readonly title: string;
  readonly state: 'waiting' | 'current' | 'done' | 'failed';
  /** What the hub said of this step last. */
  readonly note: string;
}

/** The steps of a commissioning while its job tells them, each as `step: note`. */
export class CommissionSteps {
  readonly #notes = new Map<CommissionStep, string>();
  #current: CommissionStep | undefined;
  #end: 'done' | 'failed' | undefined;

  /** Hears the note of a job's progress; what is no step of ours is left alone. */
  advance(note: string): void {
    const [name = '', ...rest] = note.split(': ');
    const step = COMMISSION_STEPS.find((known) => known === name);
    if (!step) return;
    this.#current = step;
    this.#notes.set(step, rest.join(': '));
  }

  /** Ends the list at the step where it stands, or at the one that the failure names. */
  fail(step?: string): void {
    this.#current = COMMISSION_STEPS.find((known) => known === step) ?? this.#current ?? 'parse';
    this.#end = 'failed';
  }

  finish(): void {
    this.#current = 'done';
    this.#end = 'done';
  }

  /** Every step; `network` only for devices that are told one. */
  lines(): readonly StepLine[] {
    const currentIndex = this.#current === undefined ? -1 : COMMISSION_STEPS.indexOf(this.#current);
    const shown = COMMISSION_STEPS.filter((step) => step !== 'network' || this.#notes.has(step) || this.#current === step);
    return shown.map((step) => ({
      step,
      title: TITLES[step],
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

/** A setup code as it can be sent, or what is wrong with the text so that a person can mend it. */
export type SetupCode = { readonly code: string } | { readonly mistake: string };

const QR_TEXT = /^MT:[0-9A-Z.-]{19,}$/;
const SEPARATORS = /[\s.\u2010-\u2015-]/g;

/** Reads what was typed, pasted or scanned: QR text, or a manual pairing code of 11 or 21 digits (Core §5.1.3, §5.1.4). */
export function readSetupCode(text: string): SetupCode {
  const trimmed = text.trim();
  if (/^mt:/i.test(trimmed)) return readQrText(trimmed.replaceAll(/\s/g, '').toUpperCase());
  const digits = trimmed.replaceAll(SEPARATORS, '');
  if (digits === '') return { mistake: 'Type the digits on the device or its box, or the text of its QR code.' };
  if (!/^\d+$/.test(digits)) return { mistake: 'A setup code is MT: and what follows, or digits alone.' };
  if (digits.length !== 11 && digits.length !== 21) return { mistake: `A setup code has 11 or 21 digits; these are ${digits.length}.` };
  return isVerhoeff(digits)
    ? { code: digits }
    : { mistake: 'One digit is wrong, or two are swapped: the last one does not fit the others.' };
}

function readQrText(text: string): SetupCode {
  return QR_TEXT.test(text) ? { code: text } : { mistake: 'The text of the QR code is not complete; it is MT: and at least 19 more.' };
}

const FIRST_PERMUTATION = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/** Whether the check digit at the end fits: Verhoeff's scheme, which finds each wrong digit and each swap of neighbours. */
function isVerhoeff(digits: string): boolean {
  let check = 0;
  for (const [position, digit] of [...digits].reverse().entries()) check = times(check, permuted(Number(digit), position % 8));
  return check === 0;
}

function permuted(digit: number, rounds: number): number {
  return rounds === 0 ? digit : permuted(FIRST_PERMUTATION[digit] ?? 0, rounds - 1);
}

/** Multiplication in the group of the symmetries of a pentagon. */
function times(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5);
  return b < 5 ? 5 + ((a - b) % 5) : (a - b + 5) % 5;
}
