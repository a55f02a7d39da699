import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { bubblewrapOptions, type SandboxView, withProcessLimits } from '../../../src/connectors/sandbox/bubblewrap-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'bubblewrap-'));
afterAll(() => rmSync(folder, { recursive: true }));

const CLOSED: SandboxView = {
  read: [],
  write: [],
  env: {},
  hasNetwork: false,
  hasProc: true,
  isRoot: false,
  cwd: '/tmp',
  tempBytes: 1_048_576,
};
const optionsOf = (view: Partial<SandboxView> = {}): string => bubblewrapOptions({ ...CLOSED, ...view }).join(' ');

describe('what a program is put into', () => {
  test.each([
    ['the network', '--unshare-net'],
    ['processes', '--unshare-pid'],
    ['messages between processes', '--unshare-ipc'],
    ['the name of the machine', '--unshare-uts'],
    ['the hub, which it does not outlive', '--die-with-parent'],
    ['the terminal, into which it could type', '--new-session'],
    ['variables of the hub, which may be secrets', '--clearenv'],
    ['rights', '--cap-drop ALL'],
    ['the root of the file system', '--remount-ro /'],
    ['devices', '--dev /dev --remount-ro /dev'],
  ])('is apart from %s', (_, option) => {
    expect(optionsOf()).toContain(option);
    expect(bubblewrapOptions({ ...CLOSED, isRoot: true }).join(' ')).toContain(option);
  });

  test('shares users with nobody, and makes no namespace of its own to become root in', () => {
    expect(optionsOf()).toContain('--unshare-user --disable-userns --uid 65534 --gid 65534');
    expect(optionsOf({ isRoot: true })).not.toContain('--unshare-user');
  });

  test('is cleared before the variables are set that it gets', () => {
    const options = bubblewrapOptions({ ...CLOSED, env: { LEVEL: '3', HOME: '/srv' } });
    const set = options.flatMap((option, index) => (option === '--setenv' ? [[options[index + 1], options[index + 2]]] : []));
    expect(Object.fromEntries(set)).toMatchObject({ LEVEL: '3', HOME: '/srv', LANG: 'C.UTF-8' });
    expect(options.indexOf('--clearenv')).toBeLessThan(options.indexOf('--setenv'));
  });

  test('reaches the network, and the files by which names are found, only where that is given', () => {
    expect(optionsOf({ hasNetwork: true })).not.toContain('--unshare-net');
    expect(optionsOf({ hasNetwork: true })).toContain('--ro-bind-try /etc/resolv.conf /etc/resolv.conf');
    expect(optionsOf()).not.toContain('/etc/resolv.conf');
  });

  test('writes only into bounded memory and where it is given', () => {
    const options = optionsOf({ read: ['/srv/in'], write: ['/srv/out'] });
    for (const place of ['/tmp', '/dev/shm']) expect(options).toContain(`--perms 1777 --size 1048576 --tmpfs ${place}`);
    expect(options).toContain('--ro-bind /srv/in /srv/in');
    expect(options).toContain('--bind /srv/out /srv/out');
    expect(options.match(/(?<!ro-)\bbind /g)).toHaveLength(1);
    // After it nothing can be mounted any more.
    expect(options.lastIndexOf('--bind')).toBeLessThan(options.indexOf('--remount-ro / '));
  });

  test('gets the folders above a given one with rights to pass through', () => {
    expect(optionsOf({ read: [join(folder, 'a/b')] })).toContain(
      `--perms 0755 --dir ${join(folder, 'a')} --ro-bind ${join(folder, 'a/b')}`,
    );
  });

  test("has the system's programs, by links where the system has links", () => {
    expect(optionsOf()).toContain('--ro-bind /usr /usr');
    expect(optionsOf()).toMatch(/(--symlink usr\/lib|--ro-bind \/lib) \/lib/);
  });

  test('has no /proc where the kernel lets nobody mount one', () => {
    expect(optionsOf()).toContain('--proc /proc --remount-ro /proc');
    expect(optionsOf({ hasProc: false })).not.toContain('--proc');
  });
});

describe('what a program may use', () => {
  const LIMITS = { processes: 8, cpuSeconds: 5, fileBytes: 1_000 };

  test('is bounded by the kernel, hard and soft, before the program begins', () => {
    expect(withProcessLimits(LIMITS, { isRoot: false }, ['sh', '-c', 'true'])).toEqual([
      ...['/usr/bin/prlimit', '--nproc=10:10', '--cpu=5:5', '--fsize=1000:1000', '--nofile=256:256', '--core=0:0'],
      ...['--', 'sh', '-c', 'true'],
    ]);
  });

  test('holds data where that is bounded, and all that are counted together', () => {
    expect(withProcessLimits({ ...LIMITS, dataBytes: 64, together: 3 }, { isRoot: false }, ['true'])).toEqual(
      expect.arrayContaining(['--data=64:64', '--nproc=30:30']),
    );
  });

  test('is used by nobody: one who starts as root gives it up for good first', () => {
    const command = withProcessLimits(LIMITS, { isRoot: true }, ['true']);
    expect(command.slice(0, command.indexOf('/usr/bin/prlimit')).join(' ')).toBe(
      '/usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --',
    );
  });
});
