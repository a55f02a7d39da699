import { configInForce, type Environment } from '../config/config.ts';
import { toAtmoError } from '../core/errors.ts';
import { systemClock } from '../core/time/clock.ts';
import { defaultStateDirectory } from '../journal/state-directory.ts';
import type { SafeOutputs } from '../sensors/gpio/safe-outputs.ts';

const NOTHING: SafeOutputs = { safe: [], missed: [] };

/**
 * Sets the outputs of the configuration to their safe state without a hub: systemd asks for it after each end of one, since a hub
 * that was killed could not do so itself. What goes wrong is told and never thrown.
 */
export async function safeOutputs(env: Environment): Promise<SafeOutputs> {
  try {
    const { gpio } = configInForce(env, defaultStateDirectory(env)).config.sensors;
    if (!gpio || Object.keys(gpio.outputs).length === 0) return NOTHING;
    const [{ openChip }, { makeOutputsSafe }] = await Promise.all([
      import('../sensors/gpio/open-gpio.ts'),
      import('../sensors/gpio/safe-outputs.ts'),
    ]);
    using chip = await openChip(systemClock, gpio);
    return makeOutputsSafe(chip, gpio.outputs);
  } catch (error) {
    return { safe: [], missed: [`all (${toAtmoError(error).message})`] };
  }
}
