import { rmSync } from 'node:fs';
import { createConnection, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { AtmoError } from '../src/core/errors.ts';

// Carries TCP across a network namespace: a unix socket is reachable from both sides. Run it twice:
//   inside the private network:  node scripts/forward.ts unix:/path/api.sock tcp:8081
//   outside:                     node scripts/forward.ts tcp:8081 unix:/path/api.sock

const USAGE = 'usage: node scripts/forward.ts FROM TO, each unix:PATH or tcp:PORT (on 127.0.0.1)';

/** Listens on `from` and connects each caller to `to`; a place is `unix:PATH` (mode 0600) or `tcp:PORT` on 127.0.0.1. Answers when it listens. */
export async function forward(from: string, to: string): Promise<Server> {
  const target = place(to);
  const server = createServer({ allowHalfOpen: true }, (caller) => join(caller, createConnection({ ...target, allowHalfOpen: true })));
  const source = place(from);
  if ('path' in source && source.path) rmSync(source.path, { force: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  const mask = process.umask(0o177);
  server.listen(source, resolve);
  process.umask(mask);
  await promise;
  return server;
}

function join(caller: Socket, callee: Socket): void {
  caller.pipe(callee);
  callee.pipe(caller);
  caller.on('error', () => callee.destroy());
  callee.on('error', () => caller.destroy());
  caller.on('close', () => callee.destroy());
  callee.on('close', () => caller.destroy());
}

function place(text: string): NetConnectOpts {
  const [, kind, rest = ''] = /^(unix|tcp):(.+)$/.exec(text) ?? [];
  if (kind === 'unix') return { path: rest };
  const port = Number(rest);
  if (kind === 'tcp' && Number.isInteger(port) && port > 0 && port < 65_536) return { host: '127.0.0.1', port };
  throw new AtmoError('VALIDATION_ERROR', `${text} is not a place; ${USAGE}`);
}

if (import.meta.main) {
  const [from = '', to = ''] = process.argv.slice(2);
  try {
    await forward(from, to);
    process.stdout.write(`forwarding ${from} to ${to}\n`);
  } catch (error) {
    process.stderr.write(`forward: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
}
