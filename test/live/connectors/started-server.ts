import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectTo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type DebianToolName, findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';

/** For programs of others, which start as fast as the machine lets them. */
const START_LIMIT_MS = 60_000;

/** A program of Debian that serves on a loopback port until it is stopped. */
export interface StartedServer {
  stop(): Promise<void>;
}

/** Where a server listens, and what its environment has more than that of this process. */
interface ServerPlace {
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address === 'object' && address !== null) return address.port;
  throw new Error('no port');
}

/** Starts a server and waits until its port takes connections. */
export async function startServer(name: DebianToolName, args: readonly string[], { port, env }: ServerPlace): Promise<StartedServer> {
  const tool = findDebianTool(name);
  if (!tool) throw new Error(`${name} is not there: node scripts/network-lab/debian-tool.ts`);
  const child = spawn(tool.path, args, { env: { ...tool.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => said.push(text.toString()));
  await untilListening(child, port, said);
  return {
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function untilListening(child: ChildProcess, port: number, said: readonly string[]): Promise<void> {
  for (const endMs = Date.now() + START_LIMIT_MS; Date.now() < endMs; await delay(50)) {
    if (child.exitCode !== null) break;
    if (await answers(port)) return;
  }
  child.kill('SIGKILL');
  throw new Error(`does not listen on ${port}: ${said.join('').slice(-500)}`);
}

function answers(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connectTo(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
