import type { Socket } from 'node:net';

/** What crosses the virtual air: the parts of GATT that Matter uses, one frame each. */
export type FrameKind = 'listen' | 'advertise' | 'connect' | 'write' | 'written' | 'subscribe' | 'indicate';
const KINDS: readonly FrameKind[] = ['listen', 'advertise', 'connect', 'write', 'written', 'subscribe', 'indicate'];
const HEADER_BYTES = 5;

export function sendFrame(socket: Socket, kind: FrameKind, data: Uint8Array = new Uint8Array()): void {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = KINDS.indexOf(kind);
  header.writeUInt32LE(data.length, 1);
  socket.write(Buffer.concat([header, data]));
}

export function onFrames(socket: Socket, heard: (kind: FrameKind, data: Uint8Array) => void): void {
  let buffered = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + buffered.readUInt32LE(1);
      if (buffered.length < end) return;
      const kind = KINDS[buffered[0] ?? 0];
      const data = Uint8Array.from(buffered.subarray(HEADER_BYTES, end));
      buffered = buffered.subarray(end);
      if (kind !== undefined) heard(kind, data);
    }
  });
}
