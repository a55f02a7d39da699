import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const program = new URL('../../scripts/netns-host', import.meta.url).pathname;

/** A machine on the private network of scripts/in-netns, with its own eth0. Works only inside that network. */
export class NetworkHost implements AsyncDisposable {
  /** Name of its network namespace. */
  readonly name: string;
  readonly #number: number;

  /** `number` is 2 to 65534 and unique in the network; it makes the addresses 10.77.x.y and fd00:77::number. */
  constructor(name: string, number: number) {
    this.name = name;
    this.#number = number;
  }

  /** The address in the private network's IPv6 prefix, without zone. */
  get address(): string {
    return `fd00:77::${this.#number.toString(16)}`;
  }

  async start(): Promise<void> {
    await run(program, ['add', this.name, String(this.#number)]);
  }

  /** Packets from and to the host vanish silently; it does not notice. */
  async unplug(): Promise<void> {
    await run(program, ['unplug', this.name]);
  }

  async plug(): Promise<void> {
    await run(program, ['plug', this.name]);
  }

  /** Program and arguments that run `command` on this host. */
  command(command: readonly string[]): readonly [string, ...string[]] {
    return ['nsenter', `--net=/run/netns/${this.name}`, '--', ...command];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run(program, ['del', this.name]);
  }
}
