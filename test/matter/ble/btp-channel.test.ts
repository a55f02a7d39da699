import { Bytes } from '@matter/main';
import { BtpSessionHandler } from '@matter/main/protocol';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/core/logger.ts';
import type { GattLink } from '../../../src/matter/ble/ble-central.ts';
import { BtpChannel } from '../../../src/matter/ble/btp-channel.ts';
import { routeMatterLog } from '../../../src/matter/matter-node.ts';

const MTU_BYTES = 50;
routeMatterLog(silentLogger);

/** A link to a device in the same process, as slow as a radio to confirm a write: indications overtake confirmations. */
class SlowLink implements GattLink {
  readonly mtuBytes = MTU_BYTES;
  readonly messages: string[] = [];
  device: BtpSessionHandler | undefined;
  #handshake: Uint8Array | undefined;
  #received: Promise<void> = Promise.resolve();
  #lost: () => void = () => {};
  writesAtOnce = 0;
  mostWritesAtOnce = 0;

  async write(data: Uint8Array): Promise<void> {
    this.writesAtOnce += 1;
    this.mostWritesAtOnce = Math.max(this.mostWritesAtOnce, this.writesAtOnce);
    const { device } = this;
    if (device === undefined) this.#handshake = data;
    else this.#received = this.#received.then(() => device.handleIncomingBleData(data));
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    this.writesAtOnce -= 1;
  }

  async subscribe(indicated: (data: Uint8Array) => void): Promise<void> {
    this.device = await BtpSessionHandler.createFromHandshakeRequest(
      MTU_BYTES,
      this.#handshake ?? new Uint8Array(),
      async (data) => indicated(Bytes.of(data)),
      async () => this.#lost(),
      async (data) => void this.messages.push(Bytes.toHex(data)),
    );
  }

  onLost(listener: () => void): void {
    this.#lost = listener;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lost();
  }
}

const message = (number: number): Uint8Array => new Uint8Array(300).fill(number);
const signal = new AbortController().signal;
/** What stalls goes on by itself when matter.js acknowledges after 5 s. */
const BEFORE_TIMER = { timeout: 4_900 };

describe('a BTP channel', () => {
  test('carries long messages both ways at once over a link that confirms slowly', async () => {
    const link = new SlowLink();
    const channel = await BtpChannel.open(link, { name: 'test', signal });
    const received: string[] = [];
    channel.onMessage((data) => received.push(Bytes.toHex(data)));
    const expected = Array.from({ length: 12 }, (_, number) => Bytes.toHex(message(number)));
    for (let number = 0; number < 12; number++) {
      await link.device?.sendMatterMessage(message(number));
      await channel.send(message(number));
    }
    await expect.poll(() => [link.messages.length, received.length], BEFORE_TIMER).toEqual([12, 12]);
    expect([link.messages, received]).toEqual([expected, expected]);
    expect(link.mostWritesAtOnce).toBe(1);
    await channel.close();
  });

  test('acknowledges data that arrives during an acknowledgement, so that no device stalls', async () => {
    const link = new SlowLink();
    const channel = await BtpChannel.open(link, { name: 'test', signal });
    let received = 0;
    channel.onMessage(() => received++);
    for (let number = 0; number < 12; number++) await link.device?.sendMatterMessage(message(number));
    await expect.poll(() => received, BEFORE_TIMER).toBe(12);
    await channel.close();
  });

  test('fails when the device does not answer the handshake', async () => {
    const link = new SlowLink();
    link.subscribe = async () => {};
    await expect(BtpChannel.open(link, { name: 'test', signal: AbortSignal.timeout(50) })).rejects.toThrow(/did not answer/);
  });

  test('closes once when the link is lost, and refuses to send afterwards', async () => {
    const link = new SlowLink();
    const channel = await BtpChannel.open(link, { name: 'test', signal });
    let closings = 0;
    channel.onClose(() => closings++);
    await link[Symbol.asyncDispose]();
    await channel.close();
    expect(closings).toBe(1);
    await expect(channel.send(message(1))).rejects.toThrow(/closed/);
  });
});
