import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fakeClockLibrary } from '../../scripts/network-lab/debian-tool.ts';
import { LabHost } from '../../scripts/network-lab/lab-host.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { MAIN } from './main-program.ts';
import { RunningHub } from './running-hub.ts';

const LAMP = 'Living room lamp';
const CLOCK = fakeClockLibrary();
const laptop = new LabHost('laptop', 2);

let dir: string;
let home: VirtualHome;
let hub: RunningHub;

const startHub = (env: Record<string, string> = {}) =>
  RunningHub.start({ stateDir: join(dir, 'hub'), config: { http: { host: '0.0.0.0' }, sensors: { discover: false } }, env });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'login-'));
  await laptop.start();
  home = await VirtualHome.start({ spec: homeOf(standardHome(), [LAMP]), dir: join(dir, 'home') });
  hub = await startHub();
  const { pairing, name } = home.device(LAMP);
  await hub.result('hub:commission_device', { code: pairing.qrCode, name });
  const added = await onHub(['people', 'add', 'ann', '--role', 'adult']);
  expect([added.code, added.err]).toEqual([0, '']);
});

afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function run(command: readonly [string, ...string[]], env: Record<string, string>, input: string): Promise<Run> {
  const [program, ...args] = command;
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'pipe' });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, out, err };
}

/** Runs `atmo` on the machine of the hub, as its owner. */
function onHub(args: readonly string[]): Promise<Run> {
  const env = { HOME: join(dir, 'owner'), ATMO_STATE_DIR: join(dir, 'hub'), ATMO_HTTP_PORT: new URL(hub.url).port };
  return run([process.execPath, MAIN, ...args], env, '');
}

/** Runs `atmo` on the other machine. Each `user` has a home folder of its own, in which nothing of the hub is. */
function onLaptop(user: string, args: readonly string[], input = ''): Promise<Run> {
  const folder = join(dir, user);
  mkdirSync(folder, { recursive: true });
  return run(laptop.command([process.execPath, MAIN, ...args]), { HOME: folder }, input);
}

interface Invitation {
  /** What the invitation says to type, without `atmo`. */
  readonly login: readonly string[];
  readonly code: string;
}

async function invite(): Promise<Invitation> {
  const { code: exitCode, out, err } = await onHub(['people', 'invite', 'ann', '--cli', '--json']);
  expect([exitCode, err]).toEqual([0, '']);
  const { command, code } = JSON.parse(out) as { command: string; code: string };
  return { login: command.split(' ').slice(1), code };
}

/** Whatever a user has of the hub: authorities that are trusted, and the login. */
function keptBy(user: string): readonly string[] {
  const folder = join(dir, user, '.config/atmosphere-edge');
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(crt|json)$/.test(name)) : [];
}

const other = (letter: string): string => (letter === 'A' ? 'B' : 'A');

describe('atmo login from another machine', () => {
  test('takes the line and the code of an invitation, and from then on atmo shows the devices there', async () => {
    const { login, code } = await invite();
    expect(login).toEqual(['login', hub.url, '--fingerprint', expect.stringMatching(/^SHA256:([0-9A-F]{2}:){31}[0-9A-F]{2}$/)]);
    const signedIn = await onLaptop('ann', login, `${code}\n`);
    expect(signedIn).toMatchObject({ code: 0, out: expect.stringContaining(`ann is signed in at ${hub.url}`) });
    for (const name of keptBy('ann'))
      expect([name, statSync(join(dir, 'ann/.config/atmosphere-edge', name)).mode & 0o077]).toEqual([name, 0]);
    const devices = await onLaptop('ann', ['devices']);
    expect(devices).toMatchObject({ code: 0, out: expect.stringContaining(LAMP) });
    expect((await onHub(['people', 'sign-ins'])).out).toContain('ann');
  });

  test('with the fingerprint of another hub sends nothing and trusts nobody; the code still serves with the right one', async () => {
    const { login, code } = await invite();
    const [, url = '', , right = ''] = login;
    const wrong = `${right.slice(0, -1)}${other(right.at(-1) ?? '')}`;
    const refused = await onLaptop('tom', ['login', url, '--fingerprint', wrong], `${code}\n`);
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('it is another hub, or somebody stands between') });
    expect(keptBy('tom')).toEqual([]);
    expect(await onLaptop('tom', login, `${code}\n`)).toMatchObject({ code: 0 });
  });

  test('without a fingerprint does not trust the hub of a stranger', async () => {
    const { login, code } = await invite();
    const refused = await onLaptop('eve', login.slice(0, 2), `${code}\n`);
    expect(refused).toMatchObject({ code: 5, err: expect.stringMatching(/certificate of https:\/\/.* is not trusted/) });
    expect(keptBy('eve').filter((name) => name.endsWith('.json'))).toEqual([]);
  });

  test('refuses a wrong code, and a code that somebody has used', async () => {
    const { login, code } = await invite();
    const wrong = await onLaptop('max', login, `${code.slice(0, -1)}${other(code.at(-1) ?? '')}\n`);
    expect(wrong).toMatchObject({ code: 3, err: expect.stringContaining('This invitation is not known') });
    expect(await onLaptop('max', ['devices'])).not.toMatchObject({ code: 0 });
    expect(await onLaptop('max', login, `${code}\n`)).toMatchObject({ code: 0 });
    const used = await onLaptop('second', login, `${code}\n`);
    expect(used).toMatchObject({ code: 3, err: expect.stringMatching(/This invitation (was used|is not known)/) });
    expect(await onLaptop('second', ['devices'])).not.toMatchObject({ code: 0 });
  });

  test('ends on the hub with atmo logout', async () => {
    const { login, code } = await invite();
    expect(await onLaptop('ida', login, `${code}\n`)).toMatchObject({ code: 0 });
    expect(await onLaptop('ida', ['logout'])).toMatchObject({ code: 0, out: expect.stringContaining('the hub has ended the sign-in too') });
    expect(await onLaptop('ida', ['devices'])).not.toMatchObject({ code: 0 });
  });

  test.skipIf(CLOCK === undefined)('refuses a code after ten minutes', async () => {
    const { login, code } = await invite();
    await hub.stop();
    hub = await startHub({
      ATMO_HTTP_PORT: new URL(hub.url).port,
      LD_PRELOAD: CLOCK ?? '',
      FAKETIME: '+660s',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    });
    const late = await onLaptop('late', login, `${code}\n`);
    expect(late).toMatchObject({ code: 3, err: expect.stringContaining('has expired') });
    expect(await onLaptop('ann', ['devices'])).toMatchObject({ code: 0, out: expect.stringContaining(LAMP) });
  });
});
