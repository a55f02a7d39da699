import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A message bus of the test, where every client may own any name; it is not connected to the buses of the machine. */
export class PrivateBus implements AsyncDisposable {
  /** As D-Bus writes it. */
  readonly address: string;
  readonly #daemon: ChildProcess;

  private constructor(address: string, daemon: ChildProcess) {
    this.address = address;
    this.#daemon = daemon;
  }

  static async start(dir: string): Promise<PrivateBus> {
    const address = `unix:path=${join(dir, 'bus.sock')}`;
    const config = join(dir, 'bus.conf');
    const policy = '<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>';
    writeFileSync(config, `<busconfig><type>custom</type><listen>${address}</listen><auth>EXTERNAL</auth>${policy}</busconfig>`);
    const daemon = spawn('dbus-daemon', [`--config-file=${config}`, '--nofork', '--print-address'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (daemon.stdout !== null) await once(daemon.stdout, 'data');
    return new PrivateBus(address, daemon);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#daemon, 'exit');
    this.#daemon.kill('SIGTERM');
    await exited;
  }
}
