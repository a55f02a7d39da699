import { createSocket, type Socket } from 'node:dgram';

/** Counts the frames that go to one Matter group, as any host on the network can hear them. */
export class MulticastEar implements AsyncDisposable {
  readonly #socket: Socket = createSocket({ type: 'udp6', reuseAddr: true, reusePort: true });
  frames = 0;

  /** `fabricId` is decimal text. The address is that of Core §2.5.6.2. */
  static async listen(fabricId: string, groupId: number): Promise<MulticastEar> {
    const ear = new MulticastEar();
    const { promise, resolve } = Promise.withResolvers<void>();
    ear.#socket.on('message', () => {
      ear.frames += 1;
    });
    ear.#socket.bind(5540, resolve);
    await promise;
    const bytes = Buffer.alloc(16);
    bytes.set([0xff, 0x35, 0x00, 0x40, 0xfd]);
    bytes.writeBigUInt64BE(BigInt(fabricId), 5);
    bytes.writeUInt16BE(groupId, 14);
    ear.#socket.addMembership(bytes.toString('hex').match(/..../g)?.join(':') ?? '', '::%eth0');
    return ear;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
  }
}
