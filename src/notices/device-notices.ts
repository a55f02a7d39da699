import { repeat } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import { type Device, LOW_BATTERY_PERCENT } from '../core/devices/device-model.ts';
import type { Reading, ReadingStore, ReadingValue } from '../core/devices/sensor-readings.ts';
import type { HubEvent } from '../core/events.ts';
import { objectOf } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { NoticeKind } from '../core/notices.ts';
import { plain } from '../core/untrusted-text.ts';
import type { NoticePublisher } from './notice-publisher.ts';
import { LOCK_ALARMS, type LockAlarm, type NoticeWriter } from './texts/notice-texts.ts';

const CHECK_MS = 60_000;
/** A device counts as lost when it has not answered for this time, in milliseconds. A sleepy device has longer. */
const LOST_AFTER_MS = 3_600_000;
const SLEEPY_LOST_AFTER_MS = 12 * 3_600_000;
/** Time for which a lock may be half locked, for example while it moves, in milliseconds. */
const HALF_LOCKED_MS = 20_000;
/** Charge in percent at which a battery is no longer low. */
const CHARGED_PERCENT = 20;

interface DeviceNoticeCollaborators extends Pick<HubContext, 'clock' | 'events'> {
  readonly readings: Pick<ReadingStore, 'sensors'>;
  readonly directory: Pick<DeviceDirectory, 'list' | 'get'>;
  readonly publisher: Pick<NoticePublisher, 'begin' | 'end' | 'openAtMs'>;
}

/** What readings of one device say about a subject: that it began, that it ended, or nothing. */
type Verdict = 'began' | 'ended' | undefined;

interface Danger {
  readonly kind: NoticeKind;
  /** Name of its texts. */
  readonly about: 'leak' | 'smoke' | 'carbonMonoxide' | 'battery';
  /** Kinds of readings that say whether the subject lasts. */
  readonly readings: readonly string[];
  readonly judge: (kind: string, value: ReadingValue) => Verdict;
}

const DANGERS: readonly Danger[] = [
  {
    kind: 'leak',
    about: 'leak',
    readings: ['leak'],
    judge: (_kind, value) => (value === true ? 'began' : value === false ? 'ended' : undefined),
  },
  {
    kind: 'smoke',
    about: 'smoke',
    readings: ['smoke'],
    judge: judgeAlarm,
  },
  {
    kind: 'smoke',
    about: 'carbonMonoxide',
    readings: ['carbon_monoxide_alarm'],
    judge: judgeAlarm,
  },
  {
    kind: 'battery',
    about: 'battery',
    readings: ['battery', 'battery_level', 'battery_alert'],
    judge: judgeBattery,
  },
];
const KINDS: ReadonlySet<string> = new Set(['lock', ...DANGERS.flatMap(({ readings }) => readings)]);

/** Publishes what devices report and people should know: leaks, smoke, low batteries, jammed locks, and devices that are lost for long. */
export class DeviceNotices implements Service {
  readonly #collaborators: DeviceNoticeCollaborators;
  /** Times since which locks have been half locked and devices unreachable, in milliseconds since 1970. */
  readonly #sinceMs = new Map<string, number>();
  #stops: readonly (() => void)[] = [];

  constructor(collaborators: DeviceNoticeCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Also publishes what began or ended while the hub did not run. */
  async start(): Promise<void> {
    const { events, clock } = this.#collaborators;
    this.#stops = [
      events.listen((event) => this.#onReading(event), ['sensor.reading']),
      events.listen((event) => this.#onDeviceEvent(event), ['device.event']),
      events.listen(({ subject }) => this.#endAll(subject), ['device.removed']),
      repeat(clock, CHECK_MS, () => this.#checkAll()),
    ];
    this.#checkAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
  }

  #checkAll(): void {
    const { directory, readings } = this.#collaborators;
    const ofDevices = Map.groupBy(readings.sensors(), ({ sensor }) => sensor.device);
    for (const device of directory.list()) {
      this.#checkReadings(device, ofDevices.get(device.id) ?? []);
      this.#checkLost(device);
    }
  }

  #onReading({ subject, data }: HubEvent): void {
    if (typeof data.kind !== 'string' || !KINDS.has(data.kind)) return;
    const { directory, readings } = this.#collaborators;
    const [id] = subject.split('/', 1);
    const device = directory.list().find((one) => one.id === id);
    if (!device) return;
    if (data.kind === 'lock' && typeof data.value === 'string' && data.value !== 'not_fully_locked') this.#endLock(device.id);
    this.#checkReadings(
      device,
      readings.sensors().filter(({ sensor }) => sensor.device === device.id),
      data.kind,
    );
  }

  /**
   * Begins and ends the notices of a device by its readings. A stored reading ends no notice that began after it: a hub that was killed may
   * have published a leak and not have stored the reading. A report of the kind `reported` ends it whatever its time is, since the clock may
   * have been set back.
   */
  #checkReadings(device: Device, all: readonly Reading[], reported?: string): void {
    const { publisher } = this.#collaborators;
    for (const { kind, about, readings: kinds, judge } of DANGERS) {
      const readings = all.filter(({ sensor, value }) => kinds.includes(sensor.kind) && value !== null);
      const verdicts = readings.map(({ sensor, value }) => value !== null && judge(sensor.kind, value));
      const name = `${kinds[0]}/${device.id}`;
      const isReported = reported !== undefined && kinds.includes(reported);
      const begunMs = isReported ? 0 : (publisher.openAtMs(name) ?? 0);
      const isEnded = readings.length > 0 && readings.every(({ atMs }, index) => verdicts[index] === 'ended' && atMs >= begunMs);
      const write: NoticeWriter = (texts) => ({ title: texts[about].title, text: texts[about].text(whereIs(device)) });
      if (verdicts.includes('began')) this.#begin(device, { kind, name, write });
      else if (isEnded) publisher.end(name);
    }
    if (all.some(({ sensor, value }) => sensor.kind === 'lock' && value === 'not_fully_locked')) this.#checkHalfLocked(device);
  }

  /** A lock that stays between locked and unlocked counts as jammed. */
  #checkHalfLocked(device: Device): void {
    const { clock, directory } = this.#collaborators;
    const name = `lock/${device.id}`;
    const sinceMs = this.#sinceMs.get(name);
    if (sinceMs === undefined) {
      this.#sinceMs.set(name, clock.now());
      clock.after(HALF_LOCKED_MS, () => {
        const still = directory.get(device.id);
        if (still && this.#sinceMs.has(name)) this.#checkHalfLocked(still);
      });
    } else if (clock.now() - sinceMs >= HALF_LOCKED_MS) this.#beginLock(device, 'LockJammed');
  }

  /** A lock that reports that it is locked or unlocked has no alarm any more. */
  #endLock(id: string): void {
    this.#sinceMs.delete(`lock/${id}`);
    for (const alarm of LOCK_ALARMS) this.#collaborators.publisher.end(lockSubject(id, alarm));
  }

  #endAll(id: string): void {
    const { publisher } = this.#collaborators;
    for (const { readings } of DANGERS) publisher.end(`${readings[0]}/${id}`);
    publisher.end(`device/${id}`);
    this.#endLock(id);
  }

  #onDeviceEvent({ subject, data }: HubEvent): void {
    const device = this.#collaborators.directory.list().find(({ id }) => id === subject);
    if (!device || data.event !== 'DoorLockAlarm') return;
    const { alarmCode } = objectOf(data.data);
    const alarm = LOCK_ALARMS.find((known) => known === alarmCode);
    if (alarm) this.#beginLock(device, alarm);
  }

  #beginLock(device: Device, alarm: LockAlarm): void {
    const write: NoticeWriter = ({ lock }) => ({ title: lock.title, text: lock.text(lock.alarms[alarm](whereIs(device))) });
    this.#begin(device, { kind: 'lock', name: lockSubject(device.id, alarm), write });
  }

  #checkLost(device: Device): void {
    const { clock, publisher, directory } = this.#collaborators;
    const name = `device/${device.id}`;
    if (device.reachability !== 'unreachable') {
      this.#sinceMs.delete(name);
      if (device.reachability === 'reachable') publisher.end(name);
      return;
    }
    const nowMs = clock.now();
    const isParentLost = device.parent !== undefined && directory.get(device.parent)?.reachability === 'unreachable';
    // Behind a bridge that is lost, a device counts as lost from the return of the bridge on.
    const sinceMs = isParentLost ? nowMs : Math.max(device.lastSeenMs, this.#sinceMs.get(name) ?? (device.lastSeenMs || nowMs));
    this.#sinceMs.set(name, sinceMs);
    if (nowMs - sinceMs < (device.isSleepy ? SLEEPY_LOST_AFTER_MS : LOST_AFTER_MS)) return;
    const write: NoticeWriter = ({ lost }) => ({ title: lost.title, text: lost.text(whereIs(device), nowMs - sinceMs) });
    this.#begin(device, { kind: 'device', name, write });
  }

  #begin(device: Device, { kind, name, write }: { readonly kind: NoticeKind; readonly name: string; readonly write: NoticeWriter }): void {
    const titled: NoticeWriter = (texts) => {
      const { title, text } = write(texts);
      return { title: `${title}: ${plain(device.name)}`, text };
    };
    this.#collaborators.publisher.begin({ kind, name, write: titled, path: `/#/devices/${device.id}` });
  }
}

function judgeAlarm(_kind: string, value: ReadingValue): Verdict {
  if (value === 'warning' || value === 'critical') return 'began';
  return value === 'normal' ? 'ended' : undefined;
}

function judgeBattery(kind: string, value: ReadingValue): Verdict {
  if (typeof value === 'number' && kind === 'battery') {
    if (value <= LOW_BATTERY_PERCENT) return 'began';
    return value >= CHARGED_PERCENT ? 'ended' : undefined;
  }
  if (value === 'warning' || value === 'critical' || value === true) return 'began';
  return value === 'normal' || value === 'ok' || value === false ? 'ended' : undefined;
}

function lockSubject(id: string, alarm: string): string {
  return `lock/${id}/${alarm}`;
}

/** Returns the device's name and area, such as `Cellar sensor (Cellar)`. */
function whereIs({ name, area }: Device): string {
  return area === undefined ? plain(name) : `${plain(name)} (${plain(area)})`;
}
