import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { type CborValue, decodeCbor, encodeCbor } from '../../src/codec/cbor.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { FrameDecoder, frameWithHeader } from '../../src/mesh/transport/libp2p-connection.ts';
import { Libp2pEngine } from '../../src/mesh/transport/libp2p-engine.ts';
import { MAX_FRAME_BYTES } from '../../src/mesh/transport/mesh-engine.ts';
import type { BenchFigure } from './figure.ts';
import { ECHO_PROTOCOL, everybody, LINK_PROTOCOL, REQUEST_PROTOCOL, startedLink } from './mesh-echo-terms.ts';
import { median, quantile } from './statistics.ts';

const ROUNDS = 7;
const ECHOES = 1_000;
const BAR = 10;
const REQUEST: CborValue = new Map<number, CborValue>([
  [1, 1],
  [2, 'matter:living_room_light_brightness'],
  [3, '{"brightness_percent":40,"transition_seconds":2}'],
  [4, new Uint8Array(96).fill(7)],
]);

/** Sends one frame and waits for its echo. */
type Echo = (frame: Uint8Array) => Promise<Uint8Array>;

/** Round trip of one request of some 200 bytes on a long-lived stream of the engine, against the same over bare TCP; two processes. */
export async function engineEcho(): Promise<BenchFigure[]> {
  await using server = await EchoServer.start();
  await using engine = new Libp2pEngine({ key: newKey(), gate: everybody, listen: { host: '127.0.0.1', port: 0 } });
  await engine.start();
  const overEngine = await engineStream(engine, server);
  const overTcp = await bareSocket(server.barePort);
  for (let round = 0; round < 2; round += 1) await Promise.all([timed(overEngine), timed(overTcp)]);
  const engineMs: number[][] = [];
  const tcpMs: number[][] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    tcpMs.push(await timed(overTcp));
    engineMs.push(await timed(overEngine));
  }
  const ratio = median(engineMs.map((times, round) => median(times) / median(tcpMs[round] ?? [])));
  const common = { unit: 'ms', bar: null, ok: true, samples: ROUNDS * ECHOES };
  return [
    {
      ...{ name: 'mesh.echo.ratio', value: ratio, unit: 'ratio', bar: BAR, ok: ratio <= BAR, samples: ROUNDS * ECHOES },
      vs: 'the same CBOR, length-prefixed over bare TCP, p50, median of the rounds',
    },
    { ...common, name: 'mesh.echo.engine', value: median(engineMs.flat()), vs: 'p50 on a long-lived stream' },
    { ...common, name: 'mesh.echo.engine_p95', value: quantile(engineMs.flat(), 0.95), vs: 'p95 on a long-lived stream' },
    { ...common, name: 'mesh.echo.tcp', value: median(tcpMs.flat()), vs: 'p50 over bare TCP' },
  ];
}

/** A stream of the engine to a process that echoes, for who measures something else in turns with it. */
export class OpenEcho implements AsyncDisposable {
  readonly #echo: Echo;
  readonly #stack: AsyncDisposableStack;

  private constructor(echo: Echo, stack: AsyncDisposableStack) {
    this.#echo = echo;
    this.#stack = stack;
  }

  static async start(): Promise<OpenEcho> {
    const stack = new AsyncDisposableStack();
    const server = stack.use(await EchoServer.start());
    const engine = stack.use(new Libp2pEngine({ key: newKey(), gate: everybody, listen: { host: '127.0.0.1', port: 0 } }));
    await engine.start();
    return new OpenEcho(await engineStream(engine, server), stack);
  }

  /** Encodes one request, has it echoed, decodes what comes back. */
  async exchange(): Promise<void> {
    decodeCbor(await this.#echo(encodeCbor(REQUEST)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Requests at once in the second comparison; more streams of one peer the engine refuses. */
const AT_ONCE = 8;

/** The same requests over the control stream and over a stream for each of them, in turns; two processes. */
export async function controlStream(): Promise<BenchFigure[]> {
  await using server = await EchoServer.start();
  await using engine = new Libp2pEngine({ key: newKey(), gate: everybody, listen: { host: '127.0.0.1', port: 0 } });
  await engine.start();
  const { signal } = new AbortController();
  const peer = await engine.connect({ host: '127.0.0.1', port: server.enginePort }, { signal });
  const link = startedLink(await engine.openStream(peer.id, LINK_PROTOCOL, { signal }), 'odd', async ({ body }) => body);
  const overLink: Echo = (frame) => link.request('invoke', frame, { signal });
  const overStreams: Echo = async (frame) => {
    const stream = await engine.openStream(peer.id, REQUEST_PROTOCOL, { signal });
    const answer = new Promise<Uint8Array>((resolve) => stream.onFrame(resolve));
    stream.send(frame);
    const bytes = await answer;
    await stream.close();
    return bytes;
  };
  await timed(overLink);
  await timed(overStreams);
  const [linkMs, streamMs, linkRates, streamRates]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    linkMs.push(median(await timed(overLink)));
    streamMs.push(median(await timed(overStreams)));
    linkRates.push(await rateOf(overLink));
    streamRates.push(await rateOf(overStreams));
  }
  const ratios = (times: readonly number[], others: readonly number[]) => median(times.map((time, round) => time / (others[round] ?? 0)));
  const common = { bar: null, ok: true, samples: ROUNDS * ECHOES };
  const times = ratios(linkMs, streamMs);
  const rates = ratios(linkRates, streamRates);
  return [
    {
      ...common,
      name: 'mesh.link.ratio',
      value: times,
      unit: 'ratio',
      bar: 1,
      ok: times < 1,
      vs: 'p50 of a request / the same on a stream of its own',
    },
    { ...common, name: 'mesh.link.request', value: median(linkMs), unit: 'ms', vs: 'p50 over the control stream' },
    { ...common, name: 'mesh.link.stream', value: median(streamMs), unit: 'ms', vs: 'p50 with a stream for each request' },
    {
      ...common,
      name: 'mesh.link.rate_ratio',
      value: rates,
      unit: 'ratio',
      vs: `requests a second, ${AT_ONCE} at once / the same on streams of their own`,
    },
    { ...common, name: 'mesh.link.rate', value: median(linkRates), unit: '1/s', vs: `over the control stream, ${AT_ONCE} at once` },
    {
      ...common,
      name: 'mesh.link.stream_rate',
      value: median(streamRates),
      unit: '1/s',
      vs: `with a stream for each request, ${AT_ONCE} at once`,
    },
  ];
}

async function rateOf(echo: Echo): Promise<number> {
  const startMs = performance.now();
  const lane = async () => {
    for (let count = 0; count < ECHOES / AT_ONCE; count += 1) decodeCbor(await echo(encodeCbor(REQUEST)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return (1_000 * ECHOES) / (performance.now() - startMs);
}

async function timed(echo: Echo): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < ECHOES; count += 1) {
    const startMs = performance.now();
    decodeCbor(await echo(encodeCbor(REQUEST)));
    times.push(performance.now() - startMs);
  }
  return times;
}

async function engineStream(engine: Libp2pEngine, { enginePort, id }: EchoServer): Promise<Echo> {
  const { signal } = new AbortController();
  const peer = await engine.connect({ host: '127.0.0.1', port: enginePort }, { signal });
  const stream = await engine.openStream(peer.id, ECHO_PROTOCOL, { signal });
  if (peer.id !== id) throw new AtmoError('INTERNAL_ERROR', 'Another hub than the echo server answered');
  let answered: (frame: Uint8Array) => void = () => undefined;
  stream.onFrame((frame) => answered(frame));
  return (frame) =>
    new Promise((resolve) => {
      answered = resolve;
      stream.send(frame);
    });
}

async function bareSocket(port: number): Promise<Echo> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await new Promise((resolve) => socket.once('connect', resolve));
  let answered: (frame: Uint8Array) => void = () => undefined;
  const cutter = new FrameDecoder(MAX_FRAME_BYTES, (frame) => answered(frame));
  socket.on('data', (bytes) => cutter.push(bytes));
  socket.unref();
  return (frame) =>
    new Promise((resolve) => {
      answered = resolve;
      socket.write(frameWithHeader(frame));
    });
}

/** The process that echoes. */
class EchoServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly enginePort: number;
  readonly barePort: number;
  readonly id: string;

  private constructor(child: ChildProcess, said: { enginePort: number; barePort: number; id: string }) {
    this.#child = child;
    this.enginePort = said.enginePort;
    this.barePort = said.barePort;
    this.id = said.id;
  }

  static async start(): Promise<EchoServer> {
    const key = newKey().export({ type: 'pkcs8', format: 'pem' });
    const program = new URL('./mesh-echo-server.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [program], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ECHO_KEY: String(key) },
    });
    for await (const line of createInterface({ input: child.stdout })) return new EchoServer(child, JSON.parse(line));
    throw new AtmoError('INTERNAL_ERROR', 'The echo server ended before it listened');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }
}

function newKey(): ReturnType<typeof generateKeyPairSync>['privateKey'] {
  return generateKeyPairSync('ed25519').privateKey;
}
