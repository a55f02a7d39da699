import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { decode, encode, RECURSION_DESIRED } from 'dns-packet';
import type { ResolveHost } from '../../../src/connectors/web/public-fetch.ts';

/** A DNS server on 127.0.0.1 that gives the n-th question for a name the n-th list of addresses, and then the last again. */
export class SmallDns implements AsyncDisposable {
  readonly #socket: Socket = createSocket('udp4');
  readonly #answers: Readonly<Record<string, readonly (readonly string[])[]>>;
  readonly #asked = new Map<string, number>();

  private constructor(answers: Readonly<Record<string, readonly (readonly string[])[]>>) {
    this.#answers = answers;
    this.#socket.on('message', (message, { port, address }) => this.#socket.send(this.#answer(message), port, address));
  }

  static async start(answers: Readonly<Record<string, readonly (readonly string[])[]>>): Promise<SmallDns> {
    const server = new SmallDns(answers);
    await new Promise<void>((resolve) => server.#socket.bind(0, '127.0.0.1', resolve));
    return server;
  }

  /** Asks this server over its socket. */
  get resolve(): ResolveHost {
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${this.#socket.address().port}`]);
    return async (hostname) => (await resolver.resolve4(hostname)).map((address) => ({ address, family: 4 }));
  }

  /** How often a name was asked for. */
  asked(name: string): number {
    return this.#asked.get(name) ?? 0;
  }

  #answer(message: Buffer): Buffer {
    const { id = 0, questions = [] } = decode(message);
    const name = questions[0]?.name ?? '';
    const turn = this.asked(name);
    this.#asked.set(name, turn + 1);
    const lists = this.#answers[name] ?? [];
    const addresses = lists[Math.min(turn, lists.length - 1)] ?? [];
    return encode({
      type: 'response',
      id,
      flags: RECURSION_DESIRED | (addresses.length === 0 ? 3 : 0),
      questions,
      answers: addresses.map((address) => ({ type: 'A' as const, name, ttl: 0, data: address })),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(resolve));
  }
}
