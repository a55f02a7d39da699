import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { InterfaceAddress } from './network-interfaces.ts';

/** Port of multicast DNS. */
export const MDNS_PORT = 5_353;
const GROUPS = { ipv4: '224.0.0.251', ipv6: 'ff02::fb' } as const;
const HOP_LIMIT = 255; // RFC 6762 11

/** Where to speak: one family on one interface. */
export interface SocketTarget {
  readonly interfaceName: string;
  readonly family: InterfaceAddress['family'];
  /** An own address of the family there. */
  readonly host: string;
}

/** Who sent a message. */
export interface MessageSource {
  /** With zone where it is of the link only. */
  readonly host: string;
  readonly port: number;
}

/** What a socket tells. */
export interface SocketListener {
  message(bytes: Buffer, from: MessageSource): void;
  /** The socket is of no use any more. */
  failed(error: Error): void;
}

/** Port: multicast DNS on one family of one interface. */
export interface MulticastSocket {
  /** To all neighbours, or to one. Rejects when the network does not take it. */
  send(bytes: Uint8Array, to?: MessageSource): Promise<void>;
  close(): void;
}

/** Opens a socket; rejects when the interface cannot multicast. */
export type OpenMulticastSocket = (place: SocketTarget, ear: SocketListener) => Promise<MulticastSocket>;

/**
 * Opens a socket bound to the group's address and not to all addresses: port 5353 is shared, and of several sockets that
 * are open to everything the kernel gives a unicast message to one only. So answers meant for avahi or matter.js never
 * end here, and IPv6 hears its own interface only.
 */
export const openMulticastSocket: OpenMulticastSocket = async (place, ear) => {
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
  socket.on('error', (error) => ear.failed(error));
  socket.on('message', (bytes, { address, port }: RemoteInfo) => ear.message(bytes, { host: address, port }));
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
  // Other programs of this machine hear the group only that way.
  socket.setMulticastLoopback(true);
}
