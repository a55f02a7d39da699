import { describe, expect, test } from 'vitest';
import { startLimitMs, UpgradeWatch } from '../../../src/hub/offline/upgrade-watch.ts';
import { isOpen, type UpgradeRecord } from '../../../src/hub/upgrade-record.ts';
import { type Behaviour, complete, type Disk, FakeUpgradeMachine, FROM, SkippingClock, TO, upgraded } from './fake-upgrade-machine.ts';

function machineWith(disk: Disk, behaviours: Readonly<Record<string, Behaviour>> = {}) {
  const clock = new SkippingClock();
  const machine = new FakeUpgradeMachine(disk, behaviours, clock);
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
  test('that answers for ten seconds is kept, and is the lowest from then on', async () => {
    const { machine, watch } = machineWith(upgraded());
    expect(await watch.run()).toMatchObject({ step: 'settled', from: FROM, to: TO });
    expect(machine.disk).toMatchObject({ installed: complete(TO), kept: FROM, unit: 'installed', minimum: TO });
  });

  test('that comes up after all is offered by apt again', async () => {
    const { machine, watch } = machineWith({ ...upgraded(), avoided: [TO, '0.3.0'] });
    await watch.run();
    expect(machine.disk.avoided).toEqual(['0.3.0']);
  });

  test.each(['ends', 'hangs', 'fails'] as const)('that %s is taken back within two minutes', async (behaviour) => {
    const { machine, watch, tookMs, lines } = machineWith(upgraded(), { [TO]: behaviour });
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', reason: behaviour === 'hangs' ? 'no_answer' : 'ended' });
    expect(machine.disk).toMatchObject({ installed: complete(FROM), kept: undefined, unit: 'installed', avoided: [TO] });
    expect(tookMs()).toBeLessThanOrEqual(120_000);
    expect(lines.join('\n')).toContain('0.2.0 is not kept');
  });

  test('that never came up does not close the way back', async () => {
    const { machine, watch } = machineWith(upgraded(), { [TO]: 'ends' });
    await watch.run();
    expect(machine.disk.minimum).toBe('0.0.1');
  });

  test('that is as slow as the board always was is kept', async () => {
    const { machine, watch } = machineWith(upgraded(), { [TO]: 'slow' });
    machine.starts = [35_000];
    expect(await watch.run()).toMatchObject({ step: 'settled' });
  });

  test('whose start waits for the network after a power cut has its time from then on', async () => {
    const { watch } = machineWith(upgraded(), { [TO]: 'queued' });
    expect(await watch.run()).toMatchObject({ step: 'settled' });
  });

  test('of a hub that its owner stopped is kept, however often it ended before', async () => {
    const { machine, watch } = machineWith(upgraded(), { [TO]: 'stopped' });
    machine.endsBefore = 5;
    expect(await watch.run()).toMatchObject({ step: 'settled' });
  });

  test('that runs while dpkg died in its postinst is installed completely before it counts', async () => {
    const { machine, watch } = machineWith({ ...upgraded(), installed: { version: TO, phase: 'configuring' } });
    expect(await watch.run()).toMatchObject({ step: 'settled' });
    expect(machine.acts).toEqual(['configure', 'note watching', 'allow', 'raise minimum', 'note settled']);
  });

  test('that runs but whose postinst cannot end is taken back', async () => {
    const { watch } = machineWith({ ...upgraded(), installed: { version: TO, phase: 'configuring' }, isDamaged: true });
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', reason: 'not_installed' });
  });
});

describe('the way back', () => {
  const goingBack = (): Disk => ({ ...upgraded(), record: { step: 'rolling-back', from: FROM, to: TO, reason: 'ended', atMs: 5 } });

  test('is taken once: the version before is not watched, whatever it does', async () => {
    const { machine, watch } = machineWith(upgraded(), { [TO]: 'ends', [FROM]: 'ends' });
    await watch.run();
    const acts = machine.acts.length;
    expect(await watch.run()).toMatchObject({ step: 'rolled-back' });
    expect(machine.acts).toHaveLength(acts);
    expect(machine.running).toBe(FROM);
  });

  test('leaves the kept files to the hub that still ends its calls with them', async () => {
    const { machine, watch, tookMs } = machineWith(goingBack(), { [TO]: 'ends' });
    machine.drains = 30;
    expect(await watch.run()).toMatchObject({ step: 'rolled-back' });
    expect(tookMs()).toBeGreaterThanOrEqual(30_000);
    expect(machine.disk.kept).toBeUndefined();
  });

  test('does not install what its owner has installed while dpkg was busy', async () => {
    const { machine, watch } = machineWith(goingBack());
    machine.others = [() => undefined, () => Object.assign(machine.disk, { installed: complete(FROM) })];
    expect(await watch.run()).toMatchObject({ step: 'rolled-back' });
    expect(machine.acts).not.toContain('unpack kept');
  });

  test('never leads below the security minimum', async () => {
    const { machine, watch, lines } = machineWith({ ...upgraded(), minimum: '0.1.5' }, { [TO]: 'ends' });
    expect(await watch.run()).toMatchObject({ step: 'stayed', obstacle: 'minimum', reason: 'ended' });
    expect(machine.disk).toMatchObject({ installed: complete(TO), unit: 'installed' });
    expect(lines.at(-1)).toContain('known security hole');
  });

  test.each([undefined, '0.0.9'])('is refused in words where not the version before, but %s is kept', async (kept) => {
    const { watch, lines } = machineWith({ ...upgraded(), kept }, { [TO]: 'ends' });
    expect(await watch.run()).toMatchObject({ step: 'stayed', obstacle: 'nothing_kept' });
    expect(lines.at(-1)).toContain('its files are not there');
  });

  test('runs the version before at once, also while another program holds the lock of dpkg', async () => {
    const { machine, watch } = machineWith(upgraded(), { [TO]: 'fails' });
    machine.others = Array(100).fill(() => undefined);
    expect(await watch.run()).toMatchObject({ step: 'rolled-back' });
    expect(machine.acts.indexOf('run kept')).toBeLessThan(machine.acts.indexOf('unpack kept'));
  });

  test.each(['failed', 'not packed'] as const)(
    'ends after three attempts that %s, while the version before runs undisturbed',
    async (outcome) => {
      const { machine, watch, lines } = machineWith(upgraded(), { [TO]: 'ends' });
      machine.attempts = Array(6).fill(outcome);
      expect(await watch.run()).toMatchObject({ step: 'rolling-back' });
      expect(await watch.run()).toMatchObject({ step: 'rolling-back' });
      expect(machine.acts.filter((act) => act === 'run kept')).toHaveLength(1);
      expect(lines.at(-1)).toContain('the next start of the machine tries again');
      expect(await watch.run()).toMatchObject({ step: 'rolled-back' });
    },
  );

  test('is over where somebody else has installed the version before', async () => {
    const { machine, watch } = machineWith({ ...goingBack(), installed: complete(FROM), kept: undefined });
    expect(await watch.run()).toMatchObject({ step: 'rolled-back' });
    expect(machine.disk).toMatchObject({ unit: 'installed', avoided: [TO] });
  });

  test('ends in words where the kept files were removed', async () => {
    const { machine, watch } = machineWith({ ...goingBack(), kept: undefined, unit: 'kept', runs: 'kept' });
    expect(await watch.run()).toMatchObject({ step: 'stayed', obstacle: 'nothing_kept', reason: 'ended' });
    expect([machine.disk.unit, machine.running]).toEqual(['installed', TO]);
  });
});

describe('while dpkg installs a version', () => {
  const installing: UpgradeRecord = { step: 'installing', from: FROM, to: TO };
  const during = (disk: Partial<Disk>): Disk => ({
    ...upgraded(),
    record: installing,
    installed: { version: FROM, phase: 'incomplete' },
    ...disk,
  });

  test('its start is awaited from its postinst on, while apt goes on with other packages', async () => {
    const { machine, watch } = machineWith(during({}), { [TO]: 'hangs' });
    const unpacks = () => Object.assign(machine.disk, { installed: { version: TO, phase: 'incomplete' } });
    const configures = () => Object.assign(machine.disk, { installed: { version: TO, phase: 'configuring' } });
    machine.others = [() => undefined, unpacks, configures, ...Array(20).fill(() => undefined)];
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', reason: 'no_answer' });
    expect(machine.acts.slice(0, 3)).toEqual(['note watching', 'note rolling-back', 'unit of kept']);
  });

  test('and takes that back, the record of the upgrade before is in force again', async () => {
    const before: UpgradeRecord = { step: 'settled', from: '0.0.9', to: FROM };
    const { machine, watch } = machineWith(during({ before }));
    machine.others = [() => Object.assign(machine.disk, { installed: complete(FROM) })];
    expect(await watch.run()).toEqual(before);
    expect(machine.acts).toEqual(['restore record']);
  });

  test('and takes that back, an upgrade before that was not yet decided goes on', async () => {
    const before: UpgradeRecord = { step: 'watching', from: FROM, to: TO };
    const disk = during({ record: { step: 'installing', from: FROM, to: '0.3.0' }, before, installed: complete(TO) });
    const { watch } = machineWith(disk, { [TO]: 'ends' });
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', to: TO, reason: 'ended' });
  });

  test('and refuses it over one that it had left unfinished, that one is finished and watched', async () => {
    const before: UpgradeRecord = { step: 'settled', from: '0.0.9', to: FROM };
    const disk = during({
      record: { step: 'installing', from: FROM, to: '0.3.0' },
      before,
      installed: { version: TO, phase: 'incomplete' },
    });
    const { machine, watch } = machineWith(disk, { [TO]: 'ends' });
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', from: FROM, to: TO, reason: 'ended' });
    expect(machine.disk.avoided).toEqual([TO]);
  });

  test('and takes that back over one that is being taken back, the way back goes on', async () => {
    const before: UpgradeRecord = { step: 'rolling-back', from: FROM, to: TO, reason: 'ended', atMs: 5 };
    const { machine, watch } = machineWith(
      during({ record: { step: 'installing', from: FROM, to: '0.3.0' }, before, installed: complete(TO) }),
    );
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', reason: 'ended', atMs: 5 });
    expect(machine.acts[0]).toBe('restore record');
  });

  test('and dies before it unpacked anything, that is no upgrade', async () => {
    const { machine, watch } = machineWith(during({ installed: complete(FROM) }));
    expect(await watch.run()).toBeUndefined();
    expect(machine.disk.installed).toEqual(complete(FROM));
  });

  test('and dies before the version before is kept, that one runs again from its files, which are whole', async () => {
    const { machine, watch } = machineWith(during({ isDamaged: true, kept: undefined, runs: 'nothing' }));
    expect(await watch.run()).toMatchObject({ step: 'stayed', obstacle: 'nothing_kept', reason: 'not_installed' });
    expect(machine.running).toBe(FROM);
  });

  test('and dies after it unpacked, that is finished, and watched', async () => {
    const { machine, watch } = machineWith(during({ installed: { version: TO, phase: 'incomplete' } }));
    machine.others = Array(3).fill(() => undefined);
    expect(await watch.run()).toMatchObject({ step: 'settled' });
    expect(machine.disk.installed).toEqual(complete(TO));
  });

  test('and dies while it unpacked, the version before is installed again', async () => {
    const { machine, watch } = machineWith(during({ isDamaged: true }));
    expect(await watch.run()).toMatchObject({ step: 'rolled-back', reason: 'not_installed' });
    expect(machine.disk.installed).toEqual(complete(FROM));
  });
});

describe('an end', () => {
  const cases = [
    { name: 'after a good upgrade', disk: upgraded, behaviour: 'good', ends: TO },
    { name: 'while a bad one is taken back', disk: upgraded, behaviour: 'ends', ends: FROM },
    {
      name: 'after the owner asked for the version before',
      disk: (): Disk => ({ ...upgraded(), record: { step: 'rolling-back', from: FROM, to: TO, reason: 'owner', atMs: 5 } }),
      behaviour: 'good',
      ends: FROM,
    },
    {
      name: 'after an interrupted installation',
      disk: (): Disk => ({
        ...upgraded(),
        record: { step: 'installing', from: FROM, to: TO },
        installed: { version: FROM, phase: 'incomplete' },
        isDamaged: true,
      }),
      behaviour: 'good',
      ends: FROM,
    },
    {
      name: 'in the postinst',
      disk: (): Disk => ({
        ...upgraded(),
        record: { step: 'installing', from: FROM, to: TO },
        installed: { version: TO, phase: 'configuring' },
      }),
      behaviour: 'good',
      ends: TO,
    },
  ] as const;

  /** What becomes of the hub: a power cut starts it once more, by its unit; the end of the watch alone leaves it as it runs. */
  const ways = [
    { of: 'the power', leaves: (disk: Disk) => ({ ...disk, runs: disk.unit }) },
    { of: 'the watch', leaves: (disk: Disk) => disk },
  ] as const;

  test.each(ways.flatMap((way) => cases.map((one) => ({ ...way, ...one }))))(
    'of $of $name, at whatever moment, leaves a hub that runs and an upgrade that is decided',
    async ({ disk, behaviour, ends, leaves }) => {
      const whole = machineWith(disk(), { [TO]: behaviour });
      await whole.watch.run();
      const { moments } = whole.machine;
      expect(moments).toBeGreaterThan(3);
      for (let cutAt = 1; cutAt <= moments; cutAt++) {
        const before = machineWith(disk(), { [TO]: behaviour });
        before.machine.cutAt = cutAt;
        await before.watch.run().catch(() => undefined);
        expect(before.machine.isOff, `cut at ${cutAt}`).toBe(true);
        const after = machineWith(leaves(before.machine.disk), { [TO]: behaviour });
        // Without anything left to do the machine does not start the watch.
        if (isOpen(after.machine.disk.record)) await after.watch.run();
        expect(after.machine.running, `cut at ${cutAt}`).toBe(ends);
        expect(after.machine.disk, `cut at ${cutAt}`).toMatchObject({ installed: complete(ends), unit: 'installed', runs: 'installed' });
        expect(after.machine.disk.record?.step, `cut at ${cutAt}`).toBe(ends === TO ? 'settled' : 'rolled-back');
      }
    },
  );
});
