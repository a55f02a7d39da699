import { systemClock } from '../../core/clock.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { SafeOutputs } from '../../sensors/gpio/gpio-board.ts';
import { defaultStateDirectory } from '../../storage/state-directory.ts';
import { type Environment, effectiveConfig } from '../config/config.ts';

const NOTHING: SafeOutputs = { safe: [], missed: [] };

/**
 * Sets the configured outputs to their safe state. systemd runs this each time the hub has ended, because a hub that was killed cannot set
 * its outputs itself. Never throws: the result contains the failures.
 */
export async function safeOutputs(env: Environment): Promise<SafeOutputs> {
  try {
    const { gpio } = effectiveConfig(env, defaultStateDirectory(env)).config.sensors;
    if (!gpio || Object.keys(gpio.outputs).length === 0) return NOTHING;
    const { openChip, makeOutputsSafe } = await import('../../sensors/gpio/gpio-board.ts');
    using chip = await openChip(systemClock, gpio);
    return makeOutputsSafe(chip, gpio.outputs);
  } catch (error) {
    return { safe: [], missed: [`all (${toAtmoError(error).message})`] };
  }
}
