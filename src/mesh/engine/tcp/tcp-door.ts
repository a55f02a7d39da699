import { createServer, type Server, type Socket } from 'node:net';
import { AtmoError } from '../../../core/errors.ts';
import { formatHostPort } from '../host-port.ts';

/** Where a door listens. */
export interface DoorAddress {
  /** Address of an interface; all addresses, IPv6 and IPv4, when empty. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

/** Listens for TCP connections. */
export class TcpDoor implements AsyncDisposable {
  readonly #onSocket: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(onSocket: (socket: Socket) => void) {
    this.#onSocket = onSocket;
  }

  /** CONFLICT when the port is taken, CONFIG_INVALID when the address is not this machine's or the port needs rights. */
  async open({ host, port }: DoorAddress): Promise<void> {
    const server = createServer({ keepAlive: true, noDelay: true }, (socket) => this.#accept(socket));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', (error) => reject(listenError({ host, port }, error)));
    server.listen({ port, ...(host !== '' && { host }) }, resolve);
    await promise;
    // Such as too many open files: the connection is lost, the door stays open.
    server.on('error', () => undefined);
    this.#server = server;
  }

  /** `host:port`; `[::]:port` stands for every address. */
  addresses(): readonly string[] {
    const address = this.#server?.address();
    return typeof address === 'object' && address ? [formatHostPort({ host: address.address, port: address.port })] : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    for (const socket of this.#sockets) socket.destroy();
    await promise;
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // Until somebody else listens: a reset before that must not end the process.
    socket.on('error', () => undefined);
    this.#onSocket(socket);
  }
}

function listenError(address: DoorAddress, error: NodeJS.ErrnoException): AtmoError {
  const where = address.host === '' ? `port ${address.port}` : formatHostPort(address);
  if (error.code === 'EADDRINUSE') {
    const problem = `The mesh cannot listen on ${where}: another program has the port. Stop it, or set mesh.port to another one`;
    return new AtmoError('CONFLICT', problem, { port: address.port }, { cause: error });
  }
  const problem = `The mesh cannot listen on ${where} (${error.code ?? error.message}): set mesh.host to an address of this machine`;
  return new AtmoError('CONFIG_INVALID', `${problem} and mesh.port to a port above 1023`, { port: address.port }, { cause: error });
}
