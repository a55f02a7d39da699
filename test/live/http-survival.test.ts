import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../seeded-random.ts';
import { hasEnded } from './hub-child.ts';
import { RunningHub } from './running-hub.ts';

/** Address of this host in the private network: a hub that listens there takes TLS from other machines, and plain HTTP from this one. */
const LAN = '10.77.0.1';
const LOOPBACK = '127.0.0.1';
const AT_ONCE = 50;
const CONNECTIONS = 5_000;

/** A hub in a process of its own, and where raw sockets reach it. */
interface Target {
  readonly hub: RunningHub;
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly isTls: boolean;
}

let directory: string;
let loopback: Target;
let lan: Target;

async function started(name: string, host: string): Promise<Target> {
  const stateDir = join(directory, name);
  const hub = await RunningHub.start({ stateDir, config: { matter: { enabled: false } }, env: { ATMO_HTTP_HOST: host } });
  const token = readFileSync(join(stateDir, 'owner.token'), 'utf8').trim();
  return { hub, host, port: Number(new URL(hub.url).port), token, isTls: host === LAN };
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'survival-'));
  [loopback, lan] = await Promise.all([started('loopback', LOOPBACK), started('lan', LAN)]);
});

afterAll(async () => {
  await Promise.all([loopback?.hub.stop(), lan?.hub.stop()]);
  rmSync(directory, { recursive: true, force: true });
});

async function opened({ host, port }: Pick<Target, 'host' | 'port'>): Promise<Socket> {
  const socket = connect(port, host);
  socket.on('error', () => {});
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}

/** A socket on which HTTP is spoken: over TLS where the hub wants that. */
async function spoken(target: Target): Promise<{ readonly raw: Socket; readonly socket: Socket }> {
  const raw = await opened(target);
  if (!target.isTls) return { raw, socket: raw };
  const socket = tlsConnect({ socket: raw, rejectUnauthorized: false });
  socket.on('error', () => {});
  await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]);
  return { raw, socket };
}

async function answers({ hub, port }: Target): Promise<boolean> {
  return !hasEnded(hub.process) && (await fetch(`http://${LOOPBACK}:${port}/healthz`)).ok;
}

function heads({ host, port, token }: Target): readonly string[] {
  const common = `Host: ${host}:${port}\r\nAuthorization: Bearer ${token}\r\n`;
  const upgrade = 'Connection: Upgrade\r\nUpgrade:';
  const call = `POST /api/v1/tools/echo/invoke HTTP/1.1\r\n${common}Content-Type: application/json\r\n`;
  return [
    'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n',
    `GET /healthz HTTP/1.1\r\n${common}\r\nCONNECT evil.example:443 HTTP/1.1\r\n${common}\r\nmore than a head`,
    `GET /api/v1/events HTTP/1.1\r\n${common}${upgrade} websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    `GET / HTTP/1.1\r\n${common}${upgrade}, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n`,
    `POST /mcp HTTP/1.1\r\n${common}${upgrade} TLS/1.0\r\nContent-Length: 4\r\n\r\n{}{}`,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
    `OPTIONS * HTTP/1.1\r\n${common}\r\n`,
    `TRACE /healthz HTTP/1.1\r\n${common}Max-Forwards: 1\r\n\r\n`,
    ...['PUT', 'PATCH', 'DELETE', 'HEAD', 'QUERY', 'SOURCE'].map((method) => `${method} /api/v1/tools HTTP/1.1\r\n${common}\r\n`),
    `${call}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
    `${call}Expect: the-moon\r\nContent-Length: 2\r\n\r\n{}`,
    `${call}Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n2\r\n{}\r\n0\r\nX-A: b\r\n\r\n`,
    `${call}Content-Length: 2\r\n\r\n{}${call}Content-Length: 2\r\n\r\n{}`,
  ];
}

/** The first bytes of a client of TLS. */
async function clientHello(): Promise<Uint8Array> {
  await using server = createServer().listen(0, LOOPBACK);
  await once(server, 'listening');
  const client = tlsConnect({ host: LOOPBACK, port: (server.address() as { port: number }).port, servername: 'hub.local' });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Uint8Array];
  client.destroy();
  socket.destroy();
  return hello;
}

/** Ends a connection in one of the ways that there are. */
function end(socket: Socket, chance: number): void {
  if (chance < 0.6) socket.resetAndDestroy();
  else if (chance < 0.8) socket.end(() => socket.destroy());
  else socket.destroy();
}

type Attack = () => Promise<void>;

/** Sends the first bytes of a text, waits for what the hub makes of them, or not, and goes. */
function cut(target: Target, bytes: Uint8Array, random: () => number): Attack {
  const [waits, how] = [random() < 0.5, random()];
  return async () => {
    const socket = await opened(target);
    socket.write(bytes);
    if (waits) await Promise.race([once(socket, 'data').catch(() => undefined), pause(8)]);
    end(socket, how);
  };
}

/** The same in a session of TLS: the connection below it ends, with or without a goodbye. */
function cutInside(target: Target, text: string, random: () => number): Attack {
  const [waits, how] = [random() < 0.7, random()];
  return async () => {
    const { raw, socket } = await spoken(target);
    socket.write(text);
    if (waits) await Promise.race([once(socket, 'data').catch(() => undefined), pause(20)]);
    if (how < 0.5) raw.resetAndDestroy();
    else socket.destroy();
  };
}

/** Every head cut at every byte, at each of the targets in turn. */
function attacks(targets: readonly Target[], hello: Uint8Array): readonly Attack[] {
  const random = seededRandom(45);
  const texts = targets.flatMap((target) => heads(target).map((text) => ({ target, bytes: Buffer.from(text, 'latin1') })));
  const cuts = texts.flatMap(({ target, bytes }) =>
    Array.from(bytes, (_byte, index) => cut(target, bytes.subarray(0, index + 1), random)).concat(
      // Whole heads are where a socket leaves the hands of Node.
      Array.from({ length: 10 }, () => cut(target, bytes, random)),
    ),
  );
  const hellos = Array.from(hello, (_byte, index) => cut(lan, hello.subarray(0, index + 1), random));
  const inside = heads(lan).flatMap((text) => Array.from({ length: 12 }, () => cutInside(lan, text, random)));
  const noise = Array.from({ length: 200 }, (_value, index) => {
    const bytes = Uint8Array.from({ length: 1 + index }, () => Math.floor(random() * 256));
    return cut(index % 2 === 0 ? loopback : lan, bytes, random);
  });
  return [...cuts, ...hellos, ...inside, ...noise];
}

describe('bytes from outside', () => {
  test('never end the hub: every head cut at every byte, sockets that are handed out, resets in the middle of an answer', async () => {
    const hello = await clientHello();
    // The hub on the network is attacked through both of its entrances.
    const all = attacks([loopback, lan, { ...lan, host: LOOPBACK }], hello);
    expect(all.length).toBeGreaterThan(CONNECTIONS);
    const random = seededRandom(1);
    const chosen = all
      .map((attack) => ({ attack, at: random() }))
      .sort((a, b) => a.at - b.at)
      .slice(0, CONNECTIONS);
    let next = 0;
    const attack = async () => {
      while (next < chosen.length && !hasEnded(loopback.hub.process) && !hasEnded(lan.hub.process)) await chosen[next++]?.attack();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, attack));
    expect(next).toBe(CONNECTIONS);
    expect(await Promise.all([answers(loopback), answers(lan)])).toEqual([true, true]);
    const log = [...loopback.hub.log, ...lan.hub.log];
    expect(log.filter((line) => /http\.failed|tool\.bug|uncaught/i.test(line))).toEqual([]);
  });

  test('a tunnel is refused, and its socket does not stay', async () => {
    const socket = await opened(loopback);
    socket.write('CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    const drip = setInterval(() => socket.writable && socket.write('x'), 100);
    await once(socket, 'close');
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
  });
});

describe('a hub that stood still', () => {
  function echo({ host, port, token }: Target, extra = ''): string {
    const head = `POST /api/v1/tools/echo/invoke HTTP/1.1\r\nHost: ${host}:${port}\r\nAuthorization: Bearer ${token}\r\n`;
    return `${head}${extra}Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{"value": "hi"}`;
  }

  async function echoes({ port, token }: Target): Promise<number> {
    const response = await fetch(`http://${LOOPBACK}:${port}/api/tools/usage`, { headers: { authorization: `Bearer ${token}` } });
    const text = await response.text();
    const row = (JSON.parse(text).tools as { tool: string; calls: number }[]).find(({ tool }) => tool.includes('echo'));
    return row?.calls ?? 0;
  }

  test.each([
    ['in clear', () => loopback],
    ['over TLS', () => lan],
  ])('%s: runs no call of who has gone, nor one whose time is over, and all others', async (_name, targetOf) => {
    const target = targetOf();
    const before = await echoes(target);
    const kept = await Promise.all(Array.from({ length: 8 }, () => spoken(target)));
    const waiting = await Promise.all(Array.from({ length: 3 }, () => spoken(target)));
    const [late] = await Promise.all([spoken(target)]);
    target.hub.process.kill('SIGSTOP');
    const fresh = target.isTls ? [] : await Promise.all(Array.from({ length: 12 }, () => opened(target)));
    const leaving = [...kept, ...fresh.map((socket) => ({ raw: socket, socket }))];
    for (const { socket } of leaving) socket.write(echo(target));
    const replies = waiting.map(({ socket }) => once(socket, 'data'));
    for (const { socket } of waiting) socket.write(echo(target));
    const lateReply = once(late.socket, 'data');
    late.socket.write(echo(target, 'X-Timeout-Ms: 1000\r\n'));
    await pause(300);
    for (const [index, { raw, socket }] of leaving.entries()) {
      if (index % 2 === 0) raw.resetAndDestroy();
      else socket.destroy();
    }
    await pause(2_700);
    target.hub.process.kill('SIGCONT');
    for (const [text] of await Promise.all(replies)) expect(String(text)).toMatch(/^HTTP\/1\.1 200 /);
    expect(String((await lateReply)[0])).toMatch(/^HTTP\/1\.1 504 .*"TIMEOUT"/s);
    await pause(500);
    // The call whose time was over counts as one that was refused.
    expect((await echoes(target)) - before).toBe(waiting.length + 1);
    for (const { raw } of [...waiting, late]) raw.destroy();
  });
});
