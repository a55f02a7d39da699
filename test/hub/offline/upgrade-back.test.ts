import { expect, test } from 'vitest';
import { goBack } from '../../../src/hub/offline/upgrade-back.ts';
import { UpgradeWatch } from '../../../src/hub/offline/upgrade-watch.ts';
import { isOpen, type UpgradeRecord } from '../../../src/hub/upgrade-record.ts';
import { complete, type Disk, FakeUpgradeMachine, FROM, SkippingClock, TO, upgraded } from './fake-upgrade-machine.ts';

const settled = (): Disk => ({ ...upgraded(), record: { step: 'settled', from: FROM, to: TO } });

/** A machine on which systemd runs the watch in a process of its own; `atStop` is what the watch does before it is stopped. */
function ownerOn(disk: Disk, atStop: () => void = () => undefined) {
  const clock = new SkippingClock();
  const machine = new FakeUpgradeMachine(disk, {}, clock);
  const commands: string[] = [];
  let running = false;
  const watch = {
    start: async () => {
      commands.push('start');
      running = isOpen(disk.record);
      void new UpgradeWatch({ machine, clock, report: () => undefined }).run().then(
        () => (running = false),
        () => (running = false),
      );
    },
    stop: async () => {
      commands.push(`stop at ${disk.record?.step}`);
      atStop();
    },
    isRunning: async () => running,
  };
  const lines: string[] = [];
  return { machine, commands, lines, ask: () => goBack({ machine, watch, clock, report: (line) => lines.push(line) }) };
}

test('the owner goes back after an upgrade that was kept, once', async () => {
  const { machine, commands, lines, ask } = ownerOn(settled());
  expect(await ask()).toMatchObject({ step: 'rolled-back', from: FROM, to: TO, reason: 'owner' });
  expect(machine.disk).toMatchObject({ installed: complete(FROM), avoided: [TO] });
  expect(lines).toEqual([expect.stringContaining('0.1.0 is being installed again')]);
  expect(await ask()).toMatchObject({ step: 'rolled-back' });
  expect(commands).toEqual(['stop at settled', 'start']);
});

test('what the owner asked for is done by the watch alone, which is stopped while that is written', async () => {
  const { machine, commands, ask } = ownerOn(upgraded());
  expect(await ask()).toMatchObject({ step: 'rolled-back', reason: 'owner' });
  expect(commands).toEqual(['stop at watching', 'start']);
  expect(machine.acts.filter((act) => act === 'note rolling-back')).toHaveLength(1);
});

test('what the watch decided in the meantime stands', async () => {
  const decided: UpgradeRecord = { step: 'rolling-back', from: FROM, to: TO, reason: 'ended', atMs: 5 };
  const disk = upgraded();
  const { ask } = ownerOn(disk, () => Object.assign(disk, { record: decided }));
  expect(await ask()).toMatchObject({ step: 'rolled-back', reason: 'ended', atMs: 5 });
});

test('a way back that is not open is refused in words, and the watch goes on', async () => {
  const hole = ownerOn({ ...upgraded(), minimum: '0.1.5' });
  await expect(hole.ask()).rejects.toThrow(/no way back to 0\.1\.0: it has a known security hole/);
  expect(hole.commands).toEqual(['stop at watching', 'start']);
  const gone = ownerOn({ ...settled(), kept: TO });
  await expect(gone.ask()).rejects.toThrow(/its files are not there/);
  expect(gone.machine.disk.record).toEqual({ step: 'settled', from: FROM, to: TO });
});

test('nobody goes back while dpkg is at work on the new version', async () => {
  const { commands, ask } = ownerOn({ ...upgraded(), record: { step: 'installing', from: FROM, to: TO } });
  await expect(ask()).rejects.toThrow('dpkg is installing 0.2.0; ask again when it has finished');
  expect(commands).toEqual([]);
});

test('an attempt that failed is made once more when the owner asks again', async () => {
  const { machine, ask } = ownerOn(settled());
  machine.attempts = ['failed', 'failed', 'failed'];
  expect(await ask()).toMatchObject({ step: 'rolling-back' });
  expect(await ask()).toMatchObject({ step: 'rolled-back' });
});

test('without an upgrade there is nothing to go back to', async () => {
  expect(await ownerOn({ ...upgraded(), record: undefined }).ask()).toBeUndefined();
});

test('a power cut at whatever moment leaves the version that the owner left, or the one that was asked for', async () => {
  const whole = ownerOn(settled());
  await whole.ask();
  for (let cutAt = 1; cutAt <= whole.machine.moments; cutAt++) {
    const { machine, ask } = ownerOn(settled());
    machine.cutAt = cutAt;
    await ask().catch(() => undefined);
    const { disk } = machine;
    disk.runs = disk.unit;
    const boot = { machine: new FakeUpgradeMachine(disk, {}, new SkippingClock()), clock: new SkippingClock(), report: () => undefined };
    if (isOpen(disk.record)) await new UpgradeWatch(boot).run();
    // Before the decision was written, nothing was asked for.
    const ends = cutAt === 1 ? TO : FROM;
    expect([disk.installed, disk.unit], `cut at ${cutAt}`).toEqual([complete(ends), 'installed']);
  }
});
