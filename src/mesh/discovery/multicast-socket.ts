import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { InterfaceAddress } from './network-interfaces.ts';

/** Port of multicast DNS. */
export const MDNS_PORT = 5_353;
const GROUPS = { ipv4: '224.0.0.251', ipv6: 'ff02::fb' } as const;
const HOP_LIMIT = 255; // RFC 6762 11

/** One family on one interface. */
export interface SocketTarget {
  readonly interfaceName: string;
  readonly family: InterfaceAddress['family'];
  /** An address of this machine there. */
  readonly host: string;
}

/** The sender of a message. */
export interface MessageSource {
  /** With zone when it is link-local. */
  readonly host: string;
  readonly port: number;
}

/** Receives the events of a socket. */
export interface SocketListener {
  message(bytes: Buffer, from: MessageSource): void;
  /** Called when the socket cannot be used any more. */
  failed(error: Error): void;
}

/** Port: multicast DNS on one family of one interface. */
export interface MulticastSocket {
  /** Sends to all neighbours or to one. Rejects when the network does not accept the message. */
  send(bytes: Uint8Array, to?: MessageSource): Promise<void>;
  close(): void;
}

/** Opens a socket; rejects when the interface cannot multicast. */
export type OpenMulticastSocket = (place: SocketTarget, listener: SocketListener) => Promise<MulticastSocket>;

/**
 * Opens a socket bound to the address of the group and not to all addresses: port 5353 is shared, and the kernel gives a
 * unicast message to only one of several sockets that are bound to all addresses. So this socket never takes answers for avahi
 * or matter.js, and an IPv6 socket receives from its own interface only.
 */
export const openMulticastSocket: OpenMulticastSocket = async (place, listener) => {
  const zone = place.family === 'ipv6' ? `%${place.interfaceName}` : '';
  const group = `${GROUPS[place.family]}${zone}`;
  const socket = createSocket({ type: place.family === 'ipv4' ? 'udp4' : 'udp6', reuseAddr: true });
  try {
    const listening = once(socket, 'listening');
    socket.bind({ port: MDNS_PORT, address: group, exclusive: true });
    await listening;
    join(socket, place);
  } catch (error) {
    socket.close();
    throw error;
  }
  socket.on('error', (error) => listener.failed(error));
  socket.on('message', (bytes, { address, port }: RemoteInfo) => listener.message(bytes, { host: address, port }));
  return {
    send: (bytes, to = { host: group, port: MDNS_PORT }) =>
      new Promise((resolve, reject) => {
        socket.send(bytes, to.port, to.host, (error) => (error ? reject(error) : resolve()));
      }),
    close: () => socket.close(),
  };
};

function join(socket: Socket, place: SocketTarget): void {
  const own = place.family === 'ipv4' ? place.host : `::%${place.interfaceName}`;
  socket.addMembership(GROUPS[place.family], own);
  socket.setMulticastInterface(own);
  socket.setMulticastTTL(HOP_LIMIT);
  socket.setTTL(HOP_LIMIT);
  // Other programs of this machine receive the messages only that way.
  socket.setMulticastLoopback(true);
}
