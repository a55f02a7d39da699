import type { Stream } from '@libp2p/interface';
import { StreamState, YamuxStream } from '@libp2p/yamux/stream';
import { SEND_WINDOW_BYTES } from '../engine-limits.ts';

/** Read bytes from which on the peer is told that it may send as many more. */
const TELL_FROM_BYTES = SEND_WINDOW_BYTES / 4;

/**
 * Tells the peer in bulk what was read. Yamux says it after every message: a packet with its acknowledgement and its own
 * encryption for each that comes, 190 bytes for every exchange of two.
 */
export function tellReadInBulk(stream: Stream): void {
  if (!(stream instanceof YamuxStream)) return;
  const handleData = stream.handleData.bind(stream);
  const sendWindowUpdate = stream.sendWindowUpdate.bind(stream);
  let untoldBytes = 0;
  stream.handleData = (frame) => {
    untoldBytes += frame.header.length;
    handleData(frame);
  };
  // In other states it opens or takes the stream, or the peer is to wait.
  stream.sendWindowUpdate = () => {
    if (stream.state === StreamState.Established && untoldBytes < TELL_FROM_BYTES) return;
    if (stream.state !== StreamState.Paused) untoldBytes = 0;
    sendWindowUpdate();
  };
}
