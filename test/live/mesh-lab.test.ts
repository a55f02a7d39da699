import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../scripts/network-lab/debian-tool.ts';
import { socketOnHost } from '../../scripts/network-lab/host-socket.ts';
import type { LabHost } from '../../scripts/network-lab/lab-host.ts';
import { NetworkLab } from '../../scripts/network-lab/network-lab.ts';

const run = promisify(execFile);
const hasNft = findDebianTool('nft') !== undefined;
const NFT_REASON = hasNft ? '' : ' (skipped: nft is missing; scripts/netlab tools gets it)';

/** A program on a host that answers each TCP connection with the caller's address, and takes datagrams. */
const LISTENER = `
  require('node:dgram').createSocket('udp4').bind(7000, () => {
    require('node:net').createServer((s) => s.on('error', () => undefined).end(s.remoteAddress)).listen(7000, '::', () => console.log('ready'));
  });`;

class Listener implements AsyncDisposable {
  readonly #child;

  constructor(host: LabHost) {
    const [command, ...args] = host.command([process.execPath, '-e', LISTENER]);
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  }

  async start(): Promise<this> {
    const ended = once(this.#child, 'exit').then(() => Promise.reject(new Error('the listener ended')));
    await Promise.race([once(this.#child.stdout, 'data'), ended]);
    ended.catch(() => undefined);
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** The address that a caller on `from` has for the listener at an address. */
async function ask(from: LabHost, address: string): Promise<string> {
  const socket = socketOnHost(from.name, 7000, address);
  return Buffer.concat(await socket.toArray())
    .toString()
    .replace('::ffff:', '');
}

/** Whether a caller on `from` gets through within half a second, and not whether its process hears of it by then. */
async function reaches(from: LabHost, address: string): Promise<boolean> {
  const program = `const s = require('node:net').connect(7000, '${address}', () => process.exit(0)); s.on('error', () => process.exit(1)); setTimeout(() => setImmediate(() => process.exit(1)), 500);`;
  const [command, ...args] = from.command([process.execPath, '-e', program]);
  return run(command, args).then(
    () => true,
    () => false,
  );
}

/** A caller gets through in the end: one that got no answer before looks for the address only once a second. */
async function isReached(from: LabHost, address: string): Promise<void> {
  await expect.poll(() => reaches(from, address)).toBe(true);
}

async function sendDatagrams(from: LabHost, address: string, count: number): Promise<void> {
  const program = `const s = require('node:dgram').createSocket('udp4'); let n = 0;
    const next = () => (n++ < ${count} ? s.send('x', 7000, '${address}', next) : s.close()); next();`;
  const [command, ...args] = from.command([process.execPath, '-e', program]);
  await run(command, args);
}

describe('the lab of hosts', () => {
  let lab: NetworkLab;
  let a: LabHost;
  let b: LabHost;
  let listener: Listener;

  beforeEach(async () => {
    lab = new NetworkLab();
    await lab.start();
    [a, b] = [await lab.addHost('a'), await lab.addHost('b')];
    listener = await new Listener(b).start();
  });
  afterEach(async () => {
    await listener[Symbol.asyncDispose]();
    await lab[Symbol.asyncDispose]();
  });

  test('hosts reach each other by IPv4 and IPv6, each by its own address', async () => {
    expect(await ask(a, b.address())).toBe(a.address());
    await isReached(a, b.address6());
  });

  test('an unplugged host is unreachable and does not notice, one whose link is down does', async () => {
    await b.unplug();
    expect(await reaches(a, b.address())).toBe(false);
    expect(await hasCarrier(b)).toBe(true);
    await b.plug();
    await isReached(a, b.address());
    await b.linkDown();
    expect(await hasCarrier(b)).toBe(false);
    await b.linkUp();
    await isReached(a, b.address());
  });

  test('a partition keeps each side together and heals', async () => {
    const c = await lab.addHost('c');
    await lab.partition([a]);
    expect(await reaches(a, b.address())).toBe(false);
    await isReached(c, b.address());
    await lab.heal([a]);
    await isReached(a, b.address());
  });

  test('a host with cards in two networks is seen in both, and passes nothing on', async () => {
    const c = await lab.addHost('c', { lans: [1] });
    expect(await reaches(c, b.address())).toBe(false);
    const card = await b.addCard(1);
    await isReached(c, b.address(card));
    expect(await reaches(c, b.address(0))).toBe(false);
    await b.removeCard(card);
    await isReached(a, b.address());
  });

  test('a host that moves to another address answers there and only there', async () => {
    const old = b.address();
    await b.changeAddress(4242);
    await isReached(a, b.address());
    expect(b.address()).not.toBe(old);
    expect(await reaches(a, old)).toBe(false);
  });

  test('a removed host is gone with its namespace', async () => {
    const c = await lab.addHost('c');
    await lab.removeHost(c);
    expect(existsSync('/run/netns/c')).toBe(false);
    expect(await lab.addHost('c')).toBeDefined();
  });

  test('a card counts what went through it', async () => {
    const before = await b.traffic();
    await sendDatagrams(a, b.address(), 100);
    // 1 B of payload, 8 B UDP, 20 B IPv4, 14 B Ethernet.
    await expect.poll(async () => (await b.traffic()).receivedBytes - before.receivedBytes).toBeGreaterThanOrEqual(100 * 43);
  });

  test.skipIf(!hasNft)(`a third of the packets is lost where that was set${NFT_REASON}`, async () => {
    await b.loseIncoming(30);
    const before = await datagramsAtSockets(b);
    await sendDatagrams(a, b.address(), 2_000);
    const arrived = (await datagramsAtSockets(b)) - before;
    // Ten standard deviations of the binomial distribution.
    expect(arrived).toBeGreaterThan(1_200);
    expect(arrived).toBeLessThan(1_600);
  });

  test.skipIf(!hasNft)(`behind a masquerading router hosts reach out and are not reached${NFT_REASON}`, async () => {
    const router = await lab.addHost('router', { lans: [0, 1] });
    const inner = await lab.addHost('inner', { lans: [1] });
    await router.route({ outsideCard: 0 });
    await inner.defaultRoute(router.address(1));
    expect(await ask(inner, b.address())).toBe(router.address(0));
    await using innerListener = await new Listener(inner).start();
    expect(innerListener).toBeDefined();
    await b.ip(`route add ${inner.address()}/32 via ${router.address(0)}`);
    expect(await reaches(b, inner.address())).toBe(false);
  });
});

/** How many datagrams the kernel had for sockets of the host; those that a slow process had no room for count. */
async function datagramsAtSockets(host: LabHost): Promise<number> {
  const [command, ...args] = host.command(['cat', '/proc/net/snmp']);
  const [names = [], values = []] = (await run(command, args)).stdout
    .split('\n')
    .filter((line) => line.startsWith('Udp:'))
    .map((line) => line.split(' '));
  const count = (name: string) => Number(values[names.indexOf(name)]);
  return count('InDatagrams') + count('RcvbufErrors');
}

async function hasCarrier(host: LabHost): Promise<boolean> {
  const [link] = JSON.parse((await run('ip', ['-n', host.name, '-j', 'link', 'show', 'eth0'])).stdout);
  return link.flags.includes('LOWER_UP');
}

describe('scripts/netlab', () => {
  const NETLAB = join(import.meta.dirname, '../../scripts/netlab');
  let dir: string;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'netlab-'));
    env = { ...process.env, NETLAB_DIR: dir };
  });
  afterAll(() => rm(dir, { recursive: true }));

  test('runs one command beside its hosts and ends with its status', async () => {
    const { stdout } = await run(NETLAB, ['2', '--', 'ip', 'netns', 'list']);
    expect(stdout).toContain('n2');
    await expect(run(NETLAB, ['1', '--', 'sh', '-c', 'exit 4'])).rejects.toMatchObject({ code: 4 });
  });

  test('keeps hosts up, changes them and takes them down', async () => {
    const netlab = async (...args: string[]) => (await run(NETLAB, args, { env })).stdout;
    expect(await netlab('up', '2')).toMatch(/^n1 10\.77\.16\.1 fd00:77::1001\nn2 10\.77\.16\.2/);
    try {
      await expect(netlab('up', '2')).rejects.toMatchObject({ stderr: expect.stringContaining('is up already') });
      expect(await netlab('run', 'n2', '--', 'ip', '-br', 'address')).toContain('10.77.16.2/16');
      await netlab('set', 'n2', 'link-down');
      expect(await netlab('run', 'n2', '--', 'ip', '-br', 'link', 'show', 'eth0')).toContain('NO-CARRIER');
    } finally {
      await netlab('down');
    }
    await expect(netlab('run', 'n1', '--', 'true')).rejects.toMatchObject({ code: 1 });
  });
});

describe('a lab that is over', () => {
  test('a lab takes back everything that it made', async () => {
    const bridges = async () => (await run('ip', ['-n', 'lan', '-br', 'link'])).stdout.replaceAll(/ .*/g, '');
    const links = (await run('ip', ['-o', 'link'])).stdout;
    const ports = await bridges();
    {
      await using lab = new NetworkLab();
      await lab.start();
      await lab.addHosts(3);
      await lab.addHost('two', { lans: [1, 2] });
      expect(await bridges()).not.toBe(ports);
    }
    expect(await bridges()).toBe(ports);
    expect((await run('ip', ['-o', 'link'])).stdout).toBe(links);
  });
});
