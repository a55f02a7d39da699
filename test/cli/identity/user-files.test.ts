import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { browserEnvironment, hasScreen, opener } from '../../../src/cli/browser.ts';
import { configDir, makePrivateDir, readJsonFile, requirePrivate, restriction, stateDirs } from '../../../src/cli/identity/user-files.ts';
import { replaceFile } from '../../../src/core/files/file-system.ts';
import { withDirectory } from '../cli-fixture.ts';

const WINDOWS = { USERPROFILE: 'C:\\Users\\Ann Lee', USERDOMAIN: 'STUDY', SystemRoot: 'C:\\Windows' };

describe('the directory of logins and keys', () => {
  test('is where each system keeps the settings of a user that stay on the machine', () => {
    expect(configDir({ HOME: '/Users/ann' }, 'darwin')).toBe('/Users/ann/Library/Application Support/atmosphere-edge');
    const local = { ...WINDOWS, LOCALAPPDATA: 'D:\\Ann\\Local', APPDATA: 'C:\\Users\\Ann Lee\\AppData\\Roaming' };
    expect(configDir(local, 'win32')).toBe('D:\\Ann\\Local\\atmosphere-edge');
    expect(configDir(WINDOWS, 'win32')).toBe('C:\\Users\\Ann Lee\\AppData\\Local\\atmosphere-edge');
  });

  test('on Linux is where XDG_CONFIG_HOME says, unless a login of before is in the home directory', async () => {
    await withDirectory(async (dir) => {
      const usual = join(dir, '.config/atmosphere-edge');
      expect(configDir({ HOME: dir }, 'linux')).toBe(usual);
      expect(configDir({ HOME: dir, XDG_CONFIG_HOME: 'relative' }, 'linux')).toBe(usual);
      expect(configDir({ HOME: dir, XDG_CONFIG_HOME: '/settings' }, 'linux')).toBe('/settings/atmosphere-edge');
      mkdirSync(usual, { recursive: true });
      expect(configDir({ HOME: dir, XDG_CONFIG_HOME: '/settings' }, 'linux')).toBe(usual);
    });
  });

  test('a hub keeps its state on no Windows, unless somebody names a directory', () => {
    expect(stateDirs({ HOME: '/home/ann' }, 'linux')).toEqual(['/var/lib/atmosphere-edge', '/home/ann/.local/state/atmosphere-edge']);
    expect(stateDirs(WINDOWS, 'win32')).toEqual([]);
    expect(stateDirs({ ...WINDOWS, ATMO_STATE_DIR: 'E:\\hub' }, 'win32')).toEqual(['E:\\hub']);
  });
});

describe('what other users can read', () => {
  test('on Windows is restricted by icacls, by its whole path, to this user', () => {
    const icacls = 'C:\\Windows\\System32\\icacls.exe';
    expect(restriction('C:\\x y', WINDOWS, 'Ann Lee')).toEqual([
      [icacls, ['C:\\x y', '/reset', '/q']],
      [icacls, ['C:\\x y', '/inheritance:r', '/grant:r', 'STUDY\\Ann Lee:(OI)(CI)F', '/q']],
    ]);
  });

  /** Windows, with icacls in the form of a record: its lines, and what was in the folder at the time of each. */
  function windows(dir: string, problem?: Error) {
    const lines: string[][] = [];
    const found: string[][] = [];
    const run = (program: string, [folder = '', ...args]: readonly string[]) => {
      lines.push([program, folder.slice(dir.length), ...args]);
      found.push(readdirSync(folder));
      if (problem) throw problem;
    };
    return { lines, found, system: { platform: 'win32' as const, env: WINDOWS, user: () => 'Ann Lee', run } };
  }

  test('on Windows the whole folder is restricted before anything is in it, whichever folder in it is made first', async () => {
    await withDirectory(async (dir) => {
      const { lines, found, system } = windows(dir);
      makePrivateDir(join(dir, 'Local/atmosphere-edge/hubs'), system);
      expect(existsSync(join(dir, 'Local/atmosphere-edge/hubs'))).toBe(true);
      makePrivateDir(join(dir, 'Local/atmosphere-edge'), system);
      const start = ['C:\\Windows\\System32\\icacls.exe', '/Local/atmosphere-edge'];
      const both = [
        [...start, '/reset', '/q'],
        [...start, '/inheritance:r', '/grant:r', 'STUDY\\Ann Lee:(OI)(CI)F', '/q'],
      ];
      expect([lines, found]).toEqual([
        [...both, ...both],
        [[], [], ['hubs'], ['hubs']],
      ]);
    });
  });

  test('on Windows a folder that cannot be restricted is not made, and one of before stays', async () => {
    await withDirectory(async (dir) => {
      const { system } = windows(dir, new Error('refused'));
      const folder = join(dir, 'atmosphere-edge');
      const refusal = expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining('icacls') });
      expect(() => makePrivateDir(join(folder, 'agents'), system)).toThrow(refusal);
      expect(existsSync(folder)).toBe(false);
      mkdirSync(folder);
      expect(() => makePrivateDir(join(folder, 'agents'), system)).toThrow(refusal);
      expect(readdirSync(folder)).toEqual([]);
    });
  });

  test('elsewhere is a matter of modes, which Windows does not have', async () => {
    await withDirectory(async (dir) => {
      makePrivateDir(join(dir, 'a/b'));
      expect(statSync(join(dir, 'a/b')).mode & 0o777).toBe(0o700);
      const file = join(dir, 'login.json');
      writeFileSync(file, '{}', { mode: 0o644 });
      expect(() => requirePrivate(file, 'darwin')).toThrow(`chmod 600 ${file}`);
      expect(() => requirePrivate(file, 'win32')).not.toThrow();
      replaceFile(file, 'new', { platform: 'win32' });
      expect(statSync(file).mode & 0o777).toBe(0o600);
    });
  });
});

test('a login that is a pipe or larger than any login is none', async () => {
  await withDirectory(async (dir) => {
    execFileSync('mkfifo', [join(dir, 'pipe.json')]);
    writeFileSync(join(dir, 'login.json'), JSON.stringify({ token: 't' }));
    writeFileSync(join(dir, 'large.json'), JSON.stringify({ token: 't'.repeat(100_000) }));
    expect(['login', 'large', 'pipe'].map((name) => readJsonFile(join(dir, `${name}.json`)))).toEqual([{ token: 't' }, {}, {}]);
  });
});

describe('a file in the browser', () => {
  test('is opened by a program that gets the path as one argument and interprets none of it', () => {
    const hostile = 'C:\\Users\\a&calc.exe %PATH%\\open.html';
    expect(opener(hostile, WINDOWS, 'win32')).toEqual(['C:\\Windows\\System32\\rundll32.exe', ['url.dll,FileProtocolHandler', hostile]]);
    expect(opener('/tmp/a b.html', {}, 'darwin')).toEqual(['/usr/bin/open', ['/tmp/a b.html']]);
    expect(opener('/tmp/a b.html', {}, 'linux')).toEqual(['xdg-open', ['/tmp/a b.html']]);
  });

  test('is opened by a program that gets no setting of atmo, such as a token', () => {
    const env = { PATH: '/bin', DISPLAY: ':0', ATMO_TOKEN: 't', ATMO_INVITATION: 'c', Atmo_Passphrase: 'p' };
    expect(browserEnvironment(env)).toEqual({ PATH: '/bin', DISPLAY: ':0' });
  });

  test('needs a screen, which Linux has not over SSH', () => {
    expect([hasScreen({}, 'linux'), hasScreen({ WAYLAND_DISPLAY: 'wayland-0' }, 'linux')]).toEqual([false, true]);
    expect([hasScreen({}, 'darwin'), hasScreen({}, 'win32')]).toEqual([true, true]);
  });
});
