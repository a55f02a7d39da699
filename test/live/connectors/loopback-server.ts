import type { AddressInfo, Server, Socket } from 'node:net';

/** Where a server listens until it is disposed of, which cuts its connections. */
export interface LoopbackServer extends AsyncDisposable {
  readonly port: number;
  /** For servers that speak HTTP, without a slash at its end. */
  readonly url: string;
}

/** Lets a server listen on a free loopback port. */
export async function onLoopback(server: Server): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
