import { isoTime } from '../../core/clock.ts';
import type { PastReading } from '../../core/devices/sensor-readings.ts';
import type { SensorId } from '../../core/ids.ts';
import type { PastEvent } from '../../core/storage/event-history.ts';
import { observedBy } from '../observed.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import { answersIn } from '../plan/step-schema.ts';

/** Why something of the past is not known. */
export const GAP_KINDS = [
  'no_readings',
  'five_minute_slots',
  'age_of_readings',
  'no_events',
  'events_left_out',
  'webhook',
  'answer',
] as const;

/** Something that a trigger or condition looks at and of which not all was kept. */
export interface Gap {
  readonly kind: (typeof GAP_KINDS)[number];
  /** The sensor, device, flag, scene, person, agent or webhook. */
  readonly id: string;
  /** The time until which it is missing, as ISO 8601; absent if all of it is. */
  readonly until?: string;
  readonly text: string;
}

/** The time that is played, in milliseconds since 1970. `eventsSinceMs`: since when events are kept. */
interface PlayedRange {
  readonly startMs: number;
  readonly endMs: number;
  readonly eventsSinceMs: number | undefined;
}

/** A steady value is kept again every five minutes only, so that the age of a reading is known within this time, in seconds. */
const KEPT_EVERY_SECONDS = 300;
const SLOT_MS = 300_000;
/** Triggers and conditions about what needs no history: it is computed, or the watch itself knows it. */
const COMPUTED: readonly string[] = ['time', 'every', 'sun', 'reading', 'expression'];

/** Finds out what of the things that a plan looks at is missing in the history. */
export class GapFinder {
  readonly #plan: AutomationPlan;
  readonly #range: PlayedRange;
  readonly #firstMs = new Map<SensorId, number>();
  readonly #lastSlotMs = new Map<SensorId, number>();
  readonly #leftOut: PastEvent[] = [];

  constructor(plan: AutomationPlan, range: PlayedRange) {
    this.#plan = plan;
    this.#range = range;
  }

  see({ sensor, atMs, isSlot }: PastReading): void {
    if (!this.#firstMs.has(sensor)) this.#firstMs.set(sensor, atMs);
    if (isSlot) this.#lastSlotMs.set(sensor, atMs);
  }

  seeLeftOut(event: PastEvent): void {
    this.#leftOut.push(event);
  }

  /** Returns what is missing, after all readings were seen. `nameOf` returns what a sensor measures, for people. */
  gaps(sensors: readonly SensorId[], nameOf: (sensor: SensorId) => string): readonly Gap[] {
    const ofSensors = sensors.flatMap((sensor) => this.#ofSensor(sensor, nameOf(sensor)));
    const others = observedBy(this.#plan).flatMap((about) => {
      if (about.type === 'webhook') return [webhookGap(about.name)];
      if (about.type === 'reading' && 'max_age_seconds' in about) return ageGap(about.sensor_id, about.max_age_seconds);
      return COMPUTED.includes(about.type) ? [] : this.#ofEvents(about.type, idOf(about));
    });
    const answers = [...answersIn(this.#plan.actions).keys()].map(answerGap);
    return [...new Map([...ofSensors, ...others, ...answers].map((gap) => [`${gap.kind} ${gap.id}`, gap])).values()];
  }

  #ofSensor(id: SensorId, name: string): readonly Gap[] {
    const { startMs } = this.#range;
    const firstMs = this.#firstMs.get(id);
    if (firstMs === undefined) return [{ kind: 'no_readings', id, text: `No reading of ${name} was kept` }];
    const slotMs = this.#lastSlotMs.get(id);
    const gaps: Gap[] = [];
    if (firstMs > startMs) {
      const until = isoTime(firstMs);
      gaps.push({ kind: 'no_readings', id, until, text: `No reading of ${name} before ${until} was kept` });
    }
    if (slotMs !== undefined) {
      const until = isoTime(slotMs - (slotMs % SLOT_MS) + SLOT_MS);
      const text = `Of ${name} before ${until}, only the smallest and the greatest value of each five minutes were kept, so that times are within five minutes and short changes may be missing`;
      gaps.push({ kind: 'five_minute_slots', id, until, text });
    }
    return gaps;
  }

  #ofEvents(type: string, id: string): readonly Gap[] {
    const { startMs, endMs, eventsSinceMs = endMs } = this.#range;
    if (eventsSinceMs <= startMs) return this.#ofLeftOut();
    const until = isoTime(eventsSinceMs);
    const what = EVENT_TEXTS[type] ?? type;
    const text = `${what}${id === '' ? '' : ` (${id})`} before ${until} was not kept`;
    return [{ kind: 'no_events', id: id === '' ? type : id, until, text }, ...this.#ofLeftOut()];
  }

  /** Which events were left out is not known, so that those that the plan looks at may be among them. */
  #ofLeftOut(): readonly Gap[] {
    const [first, last] = [this.#leftOut[0], this.#leftOut.at(-1)];
    if (!first || !last) return [];
    const count = this.#leftOut.reduce((sum, { data }) => sum + Number(data.count), 0);
    const [from, until] = [isoTime(first.atMs), isoTime(Number(last.data.until_ms))];
    const text = `${count} events between ${from} and ${until} were left out, because too many came at once or they were too long`;
    return [{ kind: 'events_left_out', id: 'house', until, text }];
  }
}

/** What is missing of the events of a trigger or condition. */
const EVENT_TEXTS: Readonly<Record<string, string>> = {
  device_event: 'What the device sent',
  reachability: 'Whether the device answered',
  hub_start: 'When the hub started',
  decision: 'What people decided',
  scene: 'When the scene was run',
  automation_ended: 'When the other automation ended',
  presence: 'Who was at home',
  flag: 'The value of the flag',
};

function idOf(about: object): string {
  const names = ['device_id', 'flag', 'scene_id', 'person', 'agent_id'] as const;
  const members = new Map(Object.entries(about));
  return names.map((name) => members.get(name)).find((value) => typeof value === 'string') ?? '';
}

function webhookGap(id: string): Gap {
  return { kind: 'webhook', id, text: `What was posted to the webhook ${id} is not kept` };
}

function answerGap(id: string): Gap {
  return { kind: 'answer', id, text: `What would have been answered (${id}) is not known: the run goes on as without an answer` };
}

function ageGap(id: string, seconds: number | undefined): readonly Gap[] {
  if (seconds === undefined || seconds > KEPT_EVERY_SECONDS) return [];
  const text = `A steady value of ${id} is kept every five minutes only, so that a value no older than ${seconds} s may have been there more often`;
  return [{ kind: 'age_of_readings', id, text }];
}
