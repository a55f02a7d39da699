import { createServer as createHttpServer } from 'node:http';
import { onLoopback } from '../../test/live/connectors/loopback-server.ts';
import { mailServer } from '../../test/live/connectors/mail-server.ts';
import { freePort, startServer } from '../../test/live/connectors/started-server.ts';
import { type DebianToolName, findDebianTool } from '../network-lab/debian-tool.ts';
import type { ConnectorRow, RowServer } from './connector-rows.ts';

/** What a measured connector speaks to. */
export interface RunningRowServer extends AsyncDisposable {
  readonly port: number;
}

const ARGUMENTS: Readonly<Record<Exclude<RowServer, 'none' | 'http' | 'smtp'>, (port: number) => readonly string[]>> = {
  mosquitto: (port) => ['-p', String(port)],
  'redis-server': (port) => ['--port', String(port), '--bind', '127.0.0.1', '--save', ''],
  'nats-server': (port) => ['-a', '127.0.0.1', '-p', String(port)],
};

/** True where the server of a row can be had on this machine. */
export function hasRowServer({ server }: ConnectorRow): boolean {
  return !(server in ARGUMENTS) || findDebianTool(server as DebianToolName) !== undefined;
}

/** Starts the server of a row on a loopback port. */
export async function startRowServer({ server, answer = {} }: ConnectorRow): Promise<RunningRowServer> {
  switch (server) {
    case 'none':
      return { port: 0, [Symbol.asyncDispose]: async () => {} };
    case 'http':
      return onLoopback(
        createHttpServer((_, response) => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))),
      );
    case 'smtp':
      return mailServer();
    default: {
      const port = await freePort();
      const started = await startServer(server, ARGUMENTS[server](port), { port });
      return { port, [Symbol.asyncDispose]: () => started.stop() };
    }
  }
}
