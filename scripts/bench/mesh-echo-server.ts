import { createPrivateKey } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { decodeCbor, encodeCbor } from '../../src/codec/cbor.ts';
import { FrameDecoder, frameWithHeader } from '../../src/mesh/transport/libp2p-connection.ts';
import { Libp2pEngine } from '../../src/mesh/transport/libp2p-engine.ts';
import { MAX_FRAME_BYTES } from '../../src/mesh/transport/mesh-engine.ts';
import { ECHO_PROTOCOL, everybody, LINK_PROTOCOL, REQUEST_PROTOCOL, startedLink } from './mesh-echo-terms.ts';

/** The other end of the echo benchmark, in a process of its own: echoes over the engine and over bare TCP. */
const engine = new Libp2pEngine({
  key: createPrivateKey(process.env.ECHO_KEY ?? ''),
  gate: everybody,
  listen: { host: '127.0.0.1', port: 0 },
});
engine.handle(ECHO_PROTOCOL, (stream) => stream.onFrame((frame) => stream.send(encodeCbor(decodeCbor(frame)))));
engine.handle(LINK_PROTOCOL, (stream) => startedLink(stream, 'even', async ({ body }) => encodeCbor(decodeCbor(body))));
engine.handle(REQUEST_PROTOCOL, (stream) => {
  stream.onFrame((frame) => {
    stream.send(encodeCbor(decodeCbor(frame)));
    void stream.close();
  });
});
await engine.start();

const bare = createServer({ noDelay: true }, (socket: Socket) => {
  const cutter = new FrameDecoder(MAX_FRAME_BYTES, (frame) => socket.write(frameWithHeader(encodeCbor(decodeCbor(frame)))));
  socket.on('data', (bytes) => cutter.push(bytes));
  socket.on('error', () => undefined);
});
await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
const address = bare.address();
console.log(
  JSON.stringify({
    enginePort: Number(engine.listenAddresses()[0]?.split(':').at(-1)),
    barePort: typeof address === 'object' ? address?.port : undefined,
    id: engine.id,
  }),
);
