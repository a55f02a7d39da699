import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeDebian, SCRIPTS } from '../fake-debian.ts';

const NOTES = 'var/lib/atmosphere-edge-upgrade';
const KEPT = 'usr/lib/atmosphere-edge-previous';
const UNIT = 'etc/systemd/system/atmosphere-edge.service';
const STOPPED = 'run/atmosphere-edge-stopped-by-dpkg';
const WATCH = 'atmosphere-edge-upgrade.service';
const START_WATCH = `systemctl start --no-block ${WATCH}`;
const START_HUB = 'deb-systemd-invoke start atmosphere-edge.service';

let debian: FakeDebian;
beforeEach(() => {
  debian = new FakeDebian();
});
afterEach(() => debian[Symbol.dispose]());

const recordOf = (step: string, from = '0.1.0', to = '0.2.0') => JSON.stringify({ step, from, to });
const record = () => JSON.parse(debian.read(`${NOTES}/record.json`) ?? 'null');

/** The machine as an upgrade from 0.1.0 to 0.2.0 left it at a step. */
function at(step: string): void {
  debian.write(`${NOTES}/record.json`, recordOf(step));
  debian.keep('0.1.0');
}

const PRERM = 'var/lib/dpkg/info/atmosphere-edge.prerm';
/** Packages before the way back stopped the hub so. */
const OLD_PRERM = 'deb-systemd-invoke stop atmosphere-edge.service\n';

/** dpkg unpacks a version over another one. */
function upgradeTo(version: string, from: string) {
  const program = `${debian.root}/usr/lib/atmosphere-edge/bin/node`;
  debian.write('usr/lib/atmosphere-edge/bin/node', `program of ${from}`);
  debian.say({ status: `Package: atmosphere-edge\nVersion: ${from}\n`, files: `${program}\n${debian.root}/etc/config.yaml\n` });
  return debian.runScript('preinst', version, ['upgrade', from, version]);
}

describe('preinst of an upgrade', () => {
  test('keeps the version before, notes the upgrade and has it watched, without what was counted before', () => {
    expect(upgradeTo('0.2.0', '0.1.0')).toEqual({ status: 0, said: '' });
    expect(record()).toEqual({ step: 'installing', from: '0.1.0', to: '0.2.0' });
    expect(debian.read(`${KEPT}/files${debian.root}/usr/lib/atmosphere-edge/bin/node`)).toBe('program of 0.1.0');
    expect(debian.read(`${KEPT}/control/status`)).toContain('Version: 0.1.0');
    const starts = [`systemctl stop ${WATCH}`, START_WATCH];
    const calls = debian.calls('');
    expect(calls.filter((call) => call.startsWith('systemctl'))).toEqual([
      'systemctl reset-failed atmosphere-edge.service',
      ...starts,
      ...starts,
    ]);
    expect(calls.indexOf(START_WATCH)).toBeLessThan(calls.indexOf('dpkg-query --status atmosphere-edge'));
  });

  test('that the prerm of the version before has noted keeps that version, and not the one before it', () => {
    at('settled');
    debian.runScript('prerm', '0.2.0', ['upgrade', '0.3.0']);
    expect(record()).toEqual({ step: 'installing', from: '0.2.0', to: '0.3.0' });
    upgradeTo('0.3.0', '0.2.0');
    expect(record()).toEqual({ step: 'installing', from: '0.2.0', to: '0.3.0' });
    expect(debian.read(`${KEPT}/control/status`)).toContain('Version: 0.2.0');
    expect(debian.read(`${NOTES}/before.json`)).toBe(recordOf('settled'));
  });

  test('leaves a whole version where the power goes while the one that was kept is removed', () => {
    at('settled');
    const isKept = 'case "$2" in *-previous|*-previous.gone) [ ! -e "$2" ] || { /bin/rm "$2/control/status"; kill -9 $PPID; } ;; esac';
    debian.write('bin/rm', `#!/bin/sh\nfor last; do :; done; set -- -rf "$last"\n${isKept}\nexec /bin/rm "$@"\n`, 0o755);
    expect(upgradeTo('0.3.0', '0.2.0').status).toBeNull();
    expect(debian.read(`${KEPT}/files${debian.root}/usr/lib/atmosphere-edge/bin/node`)).toBe('program of 0.2.0');
    expect(debian.read(`${KEPT}/control/status`)).toContain('Version: 0.2.0');
    rmSync(join(debian.root, 'bin/rm'));
    upgradeTo('0.4.0', '0.2.0');
    expect(debian.read(`${KEPT}.gone/files/usr/lib/atmosphere-edge/bin/node`)).toBeUndefined();
  });

  test('from a package that stopped the hub without a word starts it again', () => {
    debian.write(PRERM, OLD_PRERM);
    debian.say({ hub: 'ActiveState=inactive\n' });
    upgradeTo('0.2.0', '0.1.0');
    expect(debian.runScript('postinst', '0.2.0', ['configure', '0.1.0'])).toEqual({ status: 0, said: '' });
    expect(debian.calls(START_HUB)).toEqual([START_HUB]);
  });

  test('sets the record of the upgrade before aside, and keeps it there while attempts at the next one die', () => {
    at('settled');
    upgradeTo('0.3.0', '0.2.0');
    expect(debian.read(`${NOTES}/before.json`)).toBe(recordOf('settled'));
    upgradeTo('0.4.0', '0.2.0');
    expect(record()).toEqual({ step: 'installing', from: '0.2.0', to: '0.4.0' });
    expect(debian.read(`${NOTES}/before.json`)).toBe(recordOf('settled'));
  });

  test('leaves nothing set aside of an upgrade that was forgotten', () => {
    debian.write(`${NOTES}/before.json`, recordOf('settled'));
    upgradeTo('0.2.0', '0.1.0');
    expect(debian.read(`${NOTES}/before.json`)).toBeUndefined();
  });

  test.each(['installing', 'watching', 'rolling-back'])('over one that is %s keeps the last version that came up', (step) => {
    at(step);
    expect(upgradeTo('0.3.0', '0.2.0').status).toBe(0);
    expect(record()).toEqual({ step: 'installing', from: '0.1.0', to: '0.3.0' });
    expect(debian.read(`${KEPT}/files/usr/lib/atmosphere-edge/bin/node`)).toBe('0.1.0');
    expect(debian.calls('systemctl').slice(-2)).toEqual([`systemctl stop ${WATCH}`, START_WATCH]);
  });

  test('has the hub run from the installed files again, and leaves a unit of the owner', () => {
    at('rolling-back');
    debian.write(UNIT, '# Runs the version before an upgrade that was not kept\n');
    upgradeTo('0.3.0', '0.2.0');
    expect(debian.read(UNIT)).toBeUndefined();
    debian.write(UNIT, '# Runs the version before an upgrade that was not kept\n');
    rmSync(join(debian.root, KEPT), { recursive: true });
    upgradeTo('0.3.0', '0.2.0');
    expect(debian.read(UNIT)).toBeUndefined();
    debian.write(UNIT, '[Service]\n');
    upgradeTo('0.4.0', '0.3.0');
    expect(debian.read(UNIT)).toBe('[Service]');
  });

  test('with which the watch goes back leaves the watch and its record alone', () => {
    at('rolling-back');
    expect(upgradeTo('0.1.0', '0.2.0').status).toBe(0);
    expect(debian.read(`${NOTES}/record.json`)).toBe(recordOf('rolling-back'));
    expect(debian.calls(`systemctl stop ${WATCH}`)).toEqual([]);
    expect(debian.read(`${KEPT}/files/usr/lib/atmosphere-edge/bin/node`)).toBe('0.1.0');
  });

  test.each(['installing', 'watching'])('with which the owner goes back from one that is %s is a way back', (step) => {
    at(step);
    upgradeTo('0.1.0', '0.2.0');
    expect(debian.read(`${NOTES}/record.json`)).toBe(recordOf('rolling-back'));
    expect(debian.calls('systemctl').slice(-2)).toEqual([`systemctl stop ${WATCH}`, START_WATCH]);
  });

  test('goes on where the upgrade cannot be noted, and says that nobody watches it', () => {
    at('settled');
    debian.write(`${NOTES}/record.json.new/file`, '');
    expect(upgradeTo('0.3.0', '0.2.0')).toMatchObject({ status: 0, said: expect.stringContaining('could not be kept') });
    expect(record()).toBeNull();
    expect(debian.calls(START_WATCH)).toEqual([]);
  });

  test('goes on where the version before cannot be kept, and says that nobody watches it any more', () => {
    debian.write('bin/dpkg-query', `#!/bin/sh\necho dpkg-query >>${debian.root}/fake/calls\nexit 1\n`, 0o755);
    expect(upgradeTo('0.3.0', '0.2.0')).toMatchObject({ status: 0, said: expect.stringContaining('could not be kept') });
    expect(record()).toBeNull();
    expect(debian.calls('').slice(-3)).toEqual([START_WATCH, 'dpkg-query', `systemctl stop ${WATCH}`]);
  });

  test.each(['installing', 'watching', 'rolling-back'])('over one that is %s is refused where it cannot be noted', (step) => {
    at(step);
    debian.write(UNIT, '# Runs the version before an upgrade that was not kept\n');
    debian.write(`${NOTES}/record.json.new/file`, '');
    expect(upgradeTo('0.3.0', '0.2.0')).toMatchObject({ status: 1, said: expect.stringContaining('Free space in /var') });
    expect([debian.read(`${NOTES}/record.json`), debian.read(UNIT)]).toEqual([recordOf(step), expect.stringContaining('# Runs')]);
    expect(debian.calls(START_WATCH)).toEqual([START_WATCH]);
  });

  test('refuses a version with a known security hole, and does not raise the lowest one', () => {
    debian.write(`${NOTES}/security-minimum`, '0.2.0\n');
    expect(upgradeTo('0.2.0~rc.1', '0.3.0')).toMatchObject({ status: 1, said: expect.stringContaining('0.2.0~rc.1 has a security hole') });
    expect(upgradeTo('0.4.0', '0.3.0').status).toBe(0);
    expect(debian.read(`${NOTES}/security-minimum`)).toBe('0.2.0');
  });
});

describe('prerm of an upgrade', () => {
  const STOP_HUB = 'deb-systemd-invoke stop atmosphere-edge.service';
  const upgrade = (version = '0.3.0') => debian.runScript('prerm', '0.2.0', ['upgrade', version]);

  test('notes it and has it watched before the hub is stopped, and sets the record of the upgrade before aside', () => {
    at('settled');
    expect(upgrade()).toEqual({ status: 0, said: '' });
    expect(record()).toEqual({ step: 'installing', from: '0.2.0', to: '0.3.0' });
    expect(debian.read(`${NOTES}/before.json`)).toBe(recordOf('settled'));
    const calls = debian.calls('');
    expect(calls).toContain(START_WATCH);
    expect(calls.indexOf(START_WATCH)).toBeLessThan(calls.indexOf(STOP_HUB));
  });

  test.each(['installing', 'watching', 'rolling-back'])('leaves one that is %s to those who are at it', (step) => {
    at(step);
    upgrade('0.1.0');
    expect(debian.read(`${NOTES}/record.json`)).toBe(recordOf(step));
    expect(debian.calls(`systemctl stop ${WATCH}`)).toEqual([]);
  });

  test('does not depend on a note that cannot be written, and takes the same version for none', () => {
    debian.write(`${NOTES}/record.json.new/file`, '');
    expect(upgrade().status).toBe(0);
    expect(upgrade('0.2.0').status).toBe(0);
    expect(record()).toBeNull();
    expect(debian.calls(STOP_HUB)).toHaveLength(2);
  });
});

describe('postinst', () => {
  test('of a first installation starts the hub and names the lowest version', () => {
    debian.runScript('preinst', '0.1.0', ['install']);
    expect(debian.runScript('postinst', '0.1.0', ['configure', ''])).toEqual({ status: 0, said: '' });
    expect(debian.read(`${NOTES}/security-minimum`)).toBe('0.1.0');
    expect(debian.calls('deb-systemd-invoke')).toEqual([START_HUB]);
  });

  test('of an upgrade that is watched leaves record and lowest version to the watch', () => {
    at('installing');
    debian.write(`${NOTES}/security-minimum`, '0.1.0\n');
    debian.runScript('postinst', '0.2.0', ['configure', '0.1.0']);
    expect([debian.read(`${NOTES}/record.json`), debian.read(`${NOTES}/security-minimum`)]).toEqual([recordOf('installing'), '0.1.0']);
    expect(debian.calls('systemctl start')).toEqual([START_WATCH]);
  });

  test.each(['0.2.0~rc.1', '0.2.0'])('where nobody watches raises the lowest version from %s, and never lowers it', (before) => {
    debian.write(`${NOTES}/security-minimum`, before);
    debian.runScript('postinst', '0.2.0', ['configure', '0.1.0']);
    expect(debian.read(`${NOTES}/security-minimum`)).toBe('0.2.0');
    debian.runScript('postinst', '0.2.0~rc.2', ['configure', '0.1.0']);
    expect(debian.read(`${NOTES}/security-minimum`)).toBe('0.2.0');
  });

  test.each(['installing', 'watching', 'rolling-back', 'settled'])(
    'of an upgrade that dpkg takes back leaves a record that says %s',
    (step) => {
      at(step);
      expect(debian.runScript('postinst', '0.1.0', ['abort-upgrade', '0.3.0']).status).toBe(0);
      expect(debian.read(`${NOTES}/record.json`)).toBe(recordOf(step));
      expect(debian.calls(START_WATCH)).toEqual([START_WATCH]);
    },
  );

  test.each(['configure', 'abort-upgrade'])('does not start a hub that its owner stopped (%s)', (act) => {
    debian.say({ hub: 'ActiveState=inactive\n' });
    debian.write(PRERM, readFileSync(join(SCRIPTS, 'prerm'), 'utf8'));
    debian.runScript('prerm', '0.1.0', ['upgrade', '0.2.0']);
    upgradeTo('0.2.0', '0.1.0');
    expect(debian.runScript('postinst', '0.2.0', [act, '0.1.0'])).toMatchObject({ status: 0, said: expect.stringContaining('stays so') });
    expect(debian.calls(START_HUB)).toEqual([]);
  });

  test.each(['active', 'activating', 'failed'])('starts a hub that was %s, also where dpkg died in between', (state) => {
    debian.say({ hub: `ActiveState=${state}\n` });
    debian.runScript('prerm', '0.1.0', ['upgrade', '0.2.0']);
    debian.say({ hub: 'ActiveState=inactive\n' });
    debian.runScript('prerm', '0.1.0', ['upgrade', '0.2.0']);
    debian.runScript('postinst', '0.2.0', ['configure', '0.1.0']);
    expect(debian.calls(START_HUB)).toEqual([START_HUB]);
    expect(debian.read(STOPPED)).toBeUndefined();
  });

  test('starts the hub of a package that was removed and is installed again', () => {
    debian.say({ hub: 'ActiveState=inactive\n' });
    debian.runScript('preinst', '0.1.0', ['install', '0.1.0']);
    debian.runScript('postinst', '0.1.0', ['configure', '0.1.0']);
    expect(debian.calls(START_HUB)).toEqual([START_HUB]);
  });
});

describe('removal', () => {
  test('ends the watch first', () => {
    debian.runScript('prerm', '0.1.0', ['remove']);
    expect(debian.calls(`systemctl stop ${WATCH}`)).toHaveLength(1);
  });

  test('leaves nothing of an upgrade but the lowest version, and a unit of the owner', () => {
    at('rolling-back');
    debian.write(`${NOTES}/before.json`, recordOf('settled'));
    debian.write(`${NOTES}/security-minimum`, '0.1.0');
    debian.write(UNIT, '# Runs the version before an upgrade that was not kept\n');
    expect(debian.runScript('postrm', '0.2.0', ['remove']).status).toBe(0);
    const left = ['record.json', 'before.json', 'security-minimum'].map((name) => debian.read(`${NOTES}/${name}`));
    expect([...left, debian.read(UNIT), debian.read(`${KEPT}/control/status`)]).toEqual([
      undefined,
      undefined,
      '0.1.0',
      undefined,
      undefined,
    ]);
  });
});
