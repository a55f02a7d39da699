import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Arm64Parts } from './arm64-parts.ts';

const execute = promisify(execFile);
/** Where QEMU has the chip, and what our device tree calls its lines. */
const CHIP_NODE = '/pl061@9030000';
const LINE_NAMES = ['', '', '', 'POWER', '', 'RELAY', '', ''];
/** QEMU lets go of the button after 100 ms (hw/gpio/gpio_key.c). */
const PULSE_PERIOD_MS = 250;
const MACHINE = ['-M', 'virt', '-cpu', 'cortex-a72', '-smp', '2', '-m', '1024', '-nic', 'none', '-no-reboot', '-display', 'none'];

/** A board of QEMU (`virt`, PL061) that runs an image, with a finger on its power button: line 3 of the chip. */
export class VirtualBoard implements AsyncDisposable {
  readonly #parts: Arm64Parts;
  readonly #workDir: string;
  #qemu: ChildProcess | undefined;
  #control: Socket | undefined;

  constructor(parts: Arm64Parts, workDir: string) {
    this.#parts = parts;
    this.#workDir = workDir;
  }

  /** Runs the image to its end; `hear` gets each line of the console. Rejects when that takes longer than the limit. */
  async run(image: string, limitMs: number, hear: (line: string) => void): Promise<void> {
    const deviceTree = await this.#deviceTree();
    const { qemu, qemuData, kernel, env } = this.#parts;
    const socket = join(this.#workDir, 'qmp');
    const child = spawn(
      qemu,
      [
        ...['-L', qemuData, ...MACHINE, '-dtb', deviceTree, '-kernel', kernel, '-initrd', image],
        ...['-append', 'console=ttyAMA0 quiet panic=-1', '-serial', 'stdio', '-qmp', `unix:${socket},server,nowait`],
      ],
      { env, stdio: ['ignore', 'pipe', 'inherit'], timeout: limitMs, killSignal: 'SIGKILL' },
    );
    this.#qemu = child;
    const ended = once(child, 'exit');
    createInterface({ input: child.stdout }).on('line', hear);
    this.#control = await connect(socket);
    const [, signal] = await ended;
    if (signal) throw new Error(`the guest did not end within ${limitMs / 1000} s`);
  }

  /** Presses the power button so many times. */
  async press(times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      this.#control?.write('{"execute":"system_powerdown"}\n');
      await sleep(PULSE_PERIOD_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#control?.destroy();
    this.#qemu?.kill('SIGKILL');
  }

  /** The machine's own, with names for the lines of its chip. */
  async #deviceTree(): Promise<string> {
    const { qemu, qemuData, fdtput, env } = this.#parts;
    const file = join(this.#workDir, 'virt.dtb');
    await execute(qemu, ['-L', qemuData, ...MACHINE, '-machine', `dumpdtb=${file}`], { env });
    await execute(fdtput, ['-t', 's', file, CHIP_NODE, 'gpio-line-names', ...LINE_NAMES], { env });
    return file;
  }
}

/** QEMU makes its socket a moment after its start. */
async function connect(path: string): Promise<Socket> {
  for (let tries = 0; tries < 50; tries += 1) {
    const socket = createConnection(path);
    const outcome = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'error').then(() => false)]).catch(
      () => false,
    );
    if (outcome) {
      socket.resume();
      socket.write('{"execute":"qmp_capabilities"}\n');
      return socket;
    }
    await sleep(100);
  }
  throw new Error('QEMU opens no control socket');
}
