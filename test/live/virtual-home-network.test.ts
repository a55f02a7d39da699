import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forward } from '../../scripts/forward.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const IN_NETNS = join(ROOT, 'scripts/in-netns');

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'network-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** Interfaces and every multicast group joined on them, as the kernel tells them. */
async function outside(): Promise<unknown> {
  const links = await run('ip', ['-o', 'link']);
  const groups = await run('ip', ['maddress']);
  return [links.stdout, groups.stdout];
}

/** Multicast datagrams sent and received since this network exists. */
async function multicastPackets(): Promise<number> {
  const counters = await readFile('/proc/net/snmp6', 'utf8');
  return [...counters.matchAll(/Ip6(?:In|Out)McastPkts\s+(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
}

function world(...command: readonly string[]): ChildProcess {
  return spawn(IN_NETNS, ['--', ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [chunk] = await once(child.stdout ?? child, 'data');
  return String(chunk).trim();
}

describe('a private network', () => {
  test('has one hub on a segment of its own', async () => {
    const { stdout } = await run(IN_NETNS, ['--', 'ip', '-br', 'address']);
    expect(stdout).toMatch(/eth0\S* +UP +10\.77\.0\.1\/16 fd00:77::1\/64/);
    expect(stdout).toMatch(/lo +UNKNOWN +127\.0\.0\.1/);
  });

  test('ends with the status of its command', async () => {
    await expect(run(IN_NETNS, ['--', 'bash', '-c', 'exit 5'])).rejects.toMatchObject({ code: 5 });
    await expect(run(IN_NETNS, [])).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(/^usage/) });
  });

  test('says which package is missing, and 77', async () => {
    const PATH = join(dir, 'bin');
    await run('mkdir', [PATH]);
    for (const tool of ['unshare', 'nsenter', 'setpriv', 'mount']) await run('ln', ['-s', '/bin/true', join(PATH, tool)]);
    await expect(run('/bin/bash', [IN_NETNS, '--', 'true'], { env: { PATH } })).rejects.toMatchObject({
      code: 77,
      stderr: expect.stringContaining('iproute2'),
    });
  });

  test('says what to allow where namespaces are impossible, and 77', async () => {
    const PATH = join(dir, 'refusing');
    await run('mkdir', [PATH]);
    for (const tool of ['nsenter', 'setpriv', 'mount', 'ip']) await run('ln', ['-s', '/bin/true', join(PATH, tool)]);
    await run('ln', ['-s', '/bin/false', join(PATH, 'unshare')]);
    await expect(run('/bin/bash', [IN_NETNS, '--', 'true'], { env: { PATH } })).rejects.toMatchObject({
      code: 77,
      stderr: expect.stringContaining('user namespaces'),
    });
  });

  test('leaves no interface, no multicast group and no packet outside', async () => {
    const sent = 500;
    const [before, packets] = [await outside(), await multicastPackets()];
    const program = `const s = require('node:dgram').createSocket('udp6');
      const send = (left) => (left === 0 ? console.log('sent') : s.send('x', 5353, 'ff02::fb', () => send(left - 1)));
      s.bind(5353, () => { s.addMembership('ff02::fb', '::%eth0'); s.setMulticastInterface('::%eth0'); send(${sent}); });
      setTimeout(() => {}, 60_000)`;
    const child = world(process.execPath, '-e', program);
    try {
      expect(await firstLine(child)).toBe('sent');
      expect(await outside()).toEqual(before);
      // The kernel itself asks for routers now and then, ever more seldom.
      expect((await multicastPackets()) - packets).toBeLessThan(sent / 10);
    } finally {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    expect(await outside()).toEqual(before);
  });

  test('takes every process with it when it is killed', async () => {
    const child = world('bash', '-c', 'setsid sleep 987654 & echo started; wait');
    expect(await firstLine(child)).toBe('started');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expect
      .poll(() =>
        run('pgrep', ['-f', 'sleep 987654']).then(
          () => 'alive',
          () => 'gone',
        ),
      )
      .toBe('gone');
  });

  test('its loopback is reached from outside through a forwarder on each side', async () => {
    const socket = join(dir, 'api.sock');
    const program = "require('node:http').createServer((q, a) => a.end('from within ' + q.url)).listen(8081, '127.0.0.1')";
    const inside = `${process.execPath} -e "${program}" & exec ${process.execPath} ${ROOT}/scripts/forward.ts unix:${socket} tcp:8081`;
    const child = world('bash', '-c', inside);
    expect(await firstLine(child)).toContain('forwarding');
    expect(existsSync(socket)).toBe(true);
    await using server = await forward('tcp:18081', `unix:${socket}`);
    expect(server.listening).toBe(true);
    await expect
      .poll(() =>
        fetch('http://127.0.0.1:18081/x').then(
          (answer) => answer.text(),
          () => '',
        ),
      )
      .toBe('from within /x');
    child.kill('SIGTERM');
    await once(child, 'exit');
    await expect(fetch('http://127.0.0.1:18081/x')).rejects.toThrow();
  });

  test('the forwarder refuses a place it does not understand and a port that is taken', async () => {
    await expect(forward('udp:1', 'tcp:2')).rejects.toThrow(/usage/);
    const occupant = createServer().listen(18082, '127.0.0.1');
    await once(occupant, 'listening');
    await expect(forward('tcp:18082', 'tcp:2')).rejects.toThrow(/EADDRINUSE/);
    occupant.close();
  });
});
