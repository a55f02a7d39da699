import { describe, expect, test } from 'vitest';
import { type ServiceLook, startLimitMs, type UpgradeMachine, UpgradeWatch } from '../../../src/hub/offline/upgrade-watch.ts';
import type { UpgradeRecord } from '../../../src/hub/upgrade-record.ts';
import { ManualClock } from '../../manual-clock.ts';

/** How a version of the hub behaves on the machine. */
type Behaviour = 'good' | 'ends' | 'hangs' | 'fails' | 'stopped' | 'slow';

class PowerCut extends Error {}

/** A clock on which whoever waits does not wait. */
class SkippingClock extends ManualClock {
  override after(delayMs: number, callback: () => void): () => void {
    setImmediate(() => {
      this.advance(delayMs);
      callback();
    });
    return () => undefined;
  }
}

/** What a machine holds that outlives a power cut. */
interface Disk {
  record: UpgradeRecord | undefined;
  isPending: boolean;
  /** Undefined while dpkg was interrupted. */
  installed: string | undefined;
  /** Version that is unpacked but not configured. */
  unpacked?: string | undefined;
  kept: string | undefined;
  unit: 'installed' | 'kept';
  avoided: string[];
  minimum: string;
}

const FROM = '0.1.0';
const TO = '0.2.0';
const upgraded = (): Disk => ({
  record: { step: 'watching', from: FROM, to: TO },
  isPending: true,
  installed: TO,
  kept: FROM,
  unit: 'installed',
  avoided: [],
  minimum: '0.0.1',
});

class FakeMachine implements UpgradeMachine {
  readonly disk: Disk;
  readonly acts: string[] = [];
  /** The machine loses its power at this change, before or after it took place. */
  cutAt = Number.POSITIVE_INFINITY;
  busy = 0;
  starts: readonly number[] = [];
  readonly #behaviours: Readonly<Record<string, Behaviour>>;
  readonly #clock: ManualClock;
  #startedMs: number;
  #moments = 0;

  constructor(disk: Disk, behaviours: Readonly<Record<string, Behaviour>>, clock: ManualClock) {
    this.disk = disk;
    this.#behaviours = behaviours;
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /** The version whose files the service runs. */
  get running(): string | undefined {
    return this.disk.unit === 'kept' ? this.disk.kept : this.disk.installed;
  }

  get moments(): number {
    return this.#moments;
  }

  record(): UpgradeRecord | undefined {
    return this.disk.record;
  }

  note(record: UpgradeRecord): void {
    this.#change(`note ${record.step}`, (disk) => {
      disk.record = record;
    });
  }

  forget(): void {
    this.#change('forget', (disk) => {
      disk.record = undefined;
      disk.isPending = false;
    });
  }

  finish(): void {
    this.#change('finish', (disk) => {
      disk.isPending = false;
    });
  }

  startsMs(): readonly number[] {
    return this.starts;
  }

  async look(): Promise<ServiceLook> {
    const sinceMs = this.#clock.now() - this.#startedMs;
    const behaviour = this.running === undefined ? 'fails' : (this.#behaviours[this.running] ?? 'good');
    if (behaviour === 'ends') return { state: 'starting', answers: false, pid: 0, restarts: Math.floor(sinceMs / 6_000) };
    if (behaviour === 'fails') return { state: 'failed', answers: false, pid: 0, restarts: 0 };
    if (behaviour === 'stopped') return { state: 'stopped', answers: false, pid: 0, restarts: 0 };
    const answers = behaviour === 'good' ? sinceMs >= 2_000 : behaviour === 'slow' && sinceMs >= 100_000;
    return { state: answers ? 'running' : 'starting', answers, pid: 7, restarts: 0 };
  }

  async installedVersion(): Promise<string | undefined> {
    return this.disk.installed;
  }

  async configure(): Promise<'done' | 'busy'> {
    if (this.busy-- > 0) return 'busy';
    this.#change('configure', (disk) => {
      disk.installed ??= disk.unpacked;
    });
    return 'done';
  }

  async isBelowMinimum(version: string): Promise<boolean> {
    return version < this.disk.minimum;
  }

  hasKept(): boolean {
    return this.disk.kept !== undefined;
  }

  async runKept(): Promise<void> {
    this.#change('run kept', (disk) => {
      disk.unit = 'kept';
    });
    this.#startedMs = this.#clock.now();
  }

  async installKept(): Promise<'done' | 'busy' | 'failed'> {
    if (this.busy-- > 0) return 'busy';
    this.#change('unpack kept', (disk) => {
      disk.installed = undefined;
    });
    this.#change('install kept', (disk) => {
      disk.installed = disk.kept;
    });
    return 'done';
  }

  avoid(version: string): void {
    this.#change('avoid', (disk) => {
      disk.avoided = [version];
    });
  }

  async runInstalled(): Promise<void> {
    this.#change('run installed', (disk) => {
      disk.unit = 'installed';
    });
  }

  discardKept(): void {
    this.#change('discard kept', (disk) => {
      disk.kept = undefined;
    });
  }

  #change(name: string, effect: (disk: Disk) => void): void {
    this.#moment();
    effect(this.disk);
    this.acts.push(name);
    this.#moment();
  }

  #moment(): void {
    this.#moments += 1;
    if (this.#moments === this.cutAt) throw new PowerCut();
  }
}

function machineWith(disk: Disk, behaviours: Readonly<Record<string, Behaviour>> = {}) {
  const clock = new SkippingClock();
  const machine = new FakeMachine(disk, behaviours, clock);
  const lines: string[] = [];
  const watch = new UpgradeWatch({ machine, clock, report: (line) => lines.push(line) });
  const beganMs = clock.now();
  return { machine, watch, lines, tookMs: () => clock.now() - beganMs };
}

describe('the time that a new version has to come up', () => {
  test('is a minute at least, three times the slowest earlier start, and five minutes at most', () => {
    expect([[], [2_000, 3_000], [30_000, 9_000], [400_000]].map(startLimitMs)).toEqual([60_000, 60_000, 90_000, 300_000]);
  });
});

describe('a new version', () => {
  test('that answers for ten seconds is kept', async () => {
    const { machine, watch } = machineWith(upgraded());
    expect(await watch.run()).toMatchObject({ step: 'settled', from: FROM, to: TO });
    expect(machine.disk).toMatchObject({ installed: TO, kept: FROM, unit: 'installed', isPending: false, avoided: [] });
  });

  test.each(['ends', 'hangs', 'fails'] as const)('that %s is taken back within two minutes', async (behaviour) => {
    const { machine, watch, tookMs, lines } = machineWith(upgraded(), { [TO]: behaviour });
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', reason: behaviour === 'hangs' ? 'no_answer' : 'ended' });
    expect(machine.disk).toMatchObject({ installed: FROM, kept: undefined, unit: 'installed', isPending: false, avoided: [TO] });
    expect(tookMs()).toBeLessThanOrEqual(120_000);
    expect(lines.join('\n')).toContain('0.2.0 is not kept');
  });

  test('that is as slow as the board always was is kept', async () => {
    const { machine, watch } = machineWith(upgraded(), { [TO]: 'slow' });
    machine.starts = [35_000];
    expect(await watch.run()).toMatchObject({ step: 'settled' });
  });

  test('of a hub that its owner stopped is kept', async () => {
    const { watch } = machineWith(upgraded(), { [TO]: 'stopped' });
    expect(await watch.run()).toMatchObject({ step: 'settled' });
  });
});

describe('the way back', () => {
  test('is taken once: the version before is not watched, whatever it does', async () => {
    const { machine, watch } = machineWith(upgraded(), { [TO]: 'ends', [FROM]: 'ends' });
    await watch.run();
    const acts = machine.acts.length;
    expect(await watch.run()).toMatchObject({ step: 'rolled-back' });
    expect(machine.acts.slice(acts)).toEqual(['run installed', 'discard kept', 'finish']);
    expect(machine.running).toBe(FROM);
  });

  test('never leads below the security minimum', async () => {
    const { machine, watch, lines } = machineWith({ ...upgraded(), minimum: '0.1.5' }, { [TO]: 'ends' });
    expect(await watch.run()).toMatchObject({ step: 'stayed', obstacle: 'minimum', reason: 'ended' });
    expect(machine.disk).toMatchObject({ installed: TO, unit: 'installed', isPending: false });
    expect(lines.at(-1)).toContain('known security hole');
    expect(await watch.goBack()).toMatchObject({ step: 'stayed', obstacle: 'minimum', reason: 'owner' });
  });

  test('is refused in words where nothing was kept', async () => {
    const { watch, lines } = machineWith({ ...upgraded(), kept: undefined }, { [TO]: 'ends' });
    expect(await watch.run()).toMatchObject({ step: 'stayed', obstacle: 'nothing_kept' });
    expect(lines.at(-1)).toContain('its files are not there');
  });

  test('runs the version before at once, also while another program holds the lock of dpkg', async () => {
    const { machine, watch } = machineWith(upgraded(), { [TO]: 'fails' });
    machine.busy = 100;
    expect(await watch.run()).toMatchObject({ step: 'rolled-back' });
    expect(machine.acts.indexOf('run kept')).toBeLessThan(machine.acts.indexOf('unpack kept'));
  });

  test('is open to the owner after an upgrade that was kept', async () => {
    const { machine, watch } = machineWith({ ...upgraded(), record: { step: 'settled', from: FROM, to: TO }, isPending: false });
    expect(await watch.goBack()).toMatchObject({ step: 'rolled-back', reason: 'owner' });
    expect(machine.disk).toMatchObject({ installed: FROM, avoided: [TO] });
    const acts = machine.acts.length;
    expect(await watch.goBack()).toMatchObject({ step: 'rolled-back' });
    expect(machine.acts).toHaveLength(acts);
  });
});

describe('an installation that was interrupted', () => {
  const installing: UpgradeRecord = { step: 'installing', from: FROM, to: TO };

  test('before dpkg unpacked anything is no upgrade', async () => {
    const { machine, watch } = machineWith({ ...upgraded(), record: installing, installed: FROM });
    expect(await watch.run()).toBeUndefined();
    expect(machine.disk).toMatchObject({ installed: FROM, isPending: false });
  });

  test('after dpkg unpacked the new version is finished, and watched', async () => {
    const { machine, watch } = machineWith({ ...upgraded(), record: installing, installed: undefined, unpacked: TO });
    machine.busy = 3;
    expect(await watch.run()).toMatchObject({ step: 'settled' });
    expect(machine.disk.installed).toBe(TO);
  });

  test('while dpkg unpacked it goes back', async () => {
    const { machine, watch } = machineWith({ ...upgraded(), record: installing, installed: undefined });
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', reason: 'not_installed' });
    expect(machine.disk.installed).toBe(FROM);
  });
});

describe('a power cut', () => {
  const cases = [
    { name: 'after a good upgrade', disk: upgraded, behaviour: 'good', ends: TO },
    { name: 'while a bad one is taken back', disk: upgraded, behaviour: 'ends', ends: FROM },
    {
      name: 'after an interrupted installation',
      disk: (): Disk => ({ ...upgraded(), record: { step: 'installing', from: FROM, to: TO }, installed: undefined }),
      behaviour: 'good',
      ends: FROM,
    },
  ] as const;

  test.each(cases)(
    '$name, at whatever moment, leaves a hub that runs and an upgrade that is decided',
    async ({ disk, behaviour, ends }) => {
      const whole = machineWith(disk(), { [TO]: behaviour });
      await whole.watch.run();
      const { moments } = whole.machine;
      expect(moments).toBeGreaterThan(3);
      for (let cutAt = 1; cutAt <= moments; cutAt++) {
        const before = machineWith(disk(), { [TO]: behaviour });
        before.machine.cutAt = cutAt;
        await expect(before.watch.run(), `cut at ${cutAt}`).rejects.toThrow(PowerCut);
        const after = machineWith(before.machine.disk, { [TO]: behaviour });
        // Without anything pending the machine does not start the watch.
        if (after.machine.disk.isPending) await after.watch.run();
        expect(after.machine.running, `cut at ${cutAt}`).toBe(ends);
        expect(after.machine.disk, `cut at ${cutAt}`).toMatchObject({ installed: ends, unit: 'installed', isPending: false });
      }
    },
  );
});
