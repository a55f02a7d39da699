import { COMMISSION_STEPS, type CommissionStep } from '../../../core/devices/device-administration.ts';

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
  hear(note: string): void {
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
