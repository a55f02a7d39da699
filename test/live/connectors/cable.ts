import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './started-server.ts';

/** A cable to a server on a loopback port, plugged in. While it is pulled out no goodbye reaches the server, and nothing comes back. */
export async function cableTo(serverPort: number) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(serverPort, '127.0.0.1');
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(end);
      end.on('error', () => {});
      end.once('close', () => {
        sockets.delete(end);
        other.destroy();
      });
      end.pipe(other);
    }
  });
  const port = await freePort();
  const plug = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const pull = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  await plug();
  return { port, plug, pull };
}
