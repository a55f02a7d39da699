import { AtmoError } from '../../src/core/errors.ts';
import type { Draw } from './draw.ts';
import { type Telling, type ToldNotices, WAYS } from './invariants/notice-invariants.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { ServiceRequest } from './simulated-requests.ts';

/** Who is reached. */
const PEOPLE = ['owner', 'anna'] as const;
/** The status of a service that never takes a message for this address again. */
const GONE = 410;
/** A hub waits so long for a provider, in milliseconds. */
const HUB_WAITS_MS = 10_000;

/** How a provider deals with a message. Times are milliseconds after it has come. */
interface Handling {
  /** When the person has the message; undefined if never. */
  readonly acceptsAfterMs?: number;
  /** When the provider answers with which status; undefined if never. */
  readonly answer?: { readonly afterMs: number; readonly status: number };
}

/** Kinds of handling by their shares. */
const HANDLINGS: readonly (readonly [number, (draw: Draw) => Handling])[] = [
  [0.68, (draw) => accepted(draw.pause(200))],
  [0.1, (draw) => accepted(draw.between(500, HUB_WAITS_MS - 500))],
  [0.05, (draw) => ({ acceptsAfterMs: 0, answer: { afterMs: draw.between(HUB_WAITS_MS, 2 * HUB_WAITS_MS), status: 200 } })],
  [0.03, (draw) => ({ ...(draw.chance(0.5) && { acceptsAfterMs: 0 }) })],
  [0.1, (draw) => ({ answer: { afterMs: draw.pause(300), status: draw.pick([429, 503]) } })],
  [0.04, (draw) => ({ answer: { afterMs: draw.pause(300), status: GONE } })],
];

function accepted(afterMs: number): Handling {
  return { acceptsAfterMs: afterMs, answer: { afterMs, status: 200 } };
}

/** What the configuration of a machine says about how people are reached. */
export function recipientsOf(machine: string): object {
  const waysOf = (person: string) =>
    Object.fromEntries(WAYS.map((way) => [way, { webhook: { url: `http://messages.example/${machine}/${person}/${way}` } }]));
  return Object.fromEntries(PEOPLE.map((person) => [person, { ways: waysOf(person) }]));
}

interface ProviderParts {
  /** Runs what happens at the provider. */
  readonly process: SimulatedProcess;
  readonly draw: Draw;
  readonly told: ToldNotices;
  readonly nowMs: () => number;
  readonly note: (what: string) => void;
  /** Runs a check, which may throw BrokenInvariant. */
  readonly guard: (check: () => void) => void;
}

/** The service that gives people the messages of all hubs: it accepts them, refuses them, is slow, does not answer, or answers too late. */
export class NotificationProvider {
  readonly #parts: ProviderParts;
  #listeners: { readonly machine: string; readonly resolve: () => void }[] = [];

  constructor(parts: ProviderParts) {
    this.#parts = parts;
  }

  /** Takes a request of a hub. What was sent arrives, whatever becomes of its sender. */
  readonly take = (request: ServiceRequest): ((reason: unknown) => void) => {
    const { process, draw, told, guard, nowMs } = this.#parts;
    const telling = tellingOf(request, nowMs());
    guard(() => told.begin(telling));
    process.after(draw.between(5, 80), () => this.#arrive(telling, request), `${request.sender.name}>`);
    return (reason) => {
      // A hub that stops does not keep what it does not know.
      if (reason instanceof AtmoError && reason.code === 'SHUTTING_DOWN') return;
      telling.outcome = 'unknown';
      telling.isRecorded = request.sender.diskState === 'well';
    };
  };

  /** Resolves when a message of a machine arrives. */
  nextFrom(machine: string): Promise<void> {
    return new Promise((resolve) => this.#listeners.push({ machine, resolve }));
  }

  #arrive(telling: Telling, request: ServiceRequest): void {
    const { draw, note, process } = this.#parts;
    const { id, person, way, text, machine: from } = telling;
    const { acceptsAfterMs, answer } = handlingBy(draw);
    note(
      `gets ${id} for ${person} by ${way}: ${text}; ${acceptsAfterMs === undefined ? 'does not accept' : 'accepts'} it, answers ${answer?.status}`,
    );
    for (const { machine, resolve } of this.#listeners) if (machine === from) resolve();
    this.#listeners = this.#listeners.filter(({ machine }) => machine !== from);
    if (acceptsAfterMs !== undefined) process.after(acceptsAfterMs, () => this.#accept(telling, request), 'accept');
    if (answer) process.after(answer.afterMs, () => this.#answer(telling, request, answer.status), 'answer');
  }

  /** If the hub has closed the connection meanwhile, the provider may have dropped the message. */
  #accept(telling: Telling, { isClosed }: ServiceRequest): void {
    if (!isClosed() || this.#parts.draw.chance(0.5)) telling.isAccepted = true;
  }

  #answer(telling: Telling, { answer, sender }: ServiceRequest, status: number): void {
    if (!answer(status, '{}')) return;
    telling.outcome = status === 200 ? 'taken' : status === GONE ? 'refused' : 'not taken';
    telling.isRecorded = sender.diskState === 'well';
  }
}

function handlingBy(draw: Draw): Handling {
  let share = draw.random();
  const found = HANDLINGS.find(([part]) => {
    share -= part;
    return share < 0;
  });
  return found ? found[1](draw) : {};
}

function tellingOf({ url, body, sender }: ServiceRequest, sentMs: number): Telling {
  const [, machine = '', person = '', way = ''] = url.pathname.split('/');
  const { id, recipient, title, message: text, link, timestamp: begunAt } = JSON.parse(body);
  return { machine, person, way, id, recipient, title, text, link, begunAt, sender, sentMs, isAccepted: false, isRecorded: false };
}
