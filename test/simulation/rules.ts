import { deviceTool, REPEATABLE } from './device-kinds.ts';
import type { Draw } from './draw.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { World } from './world.ts';

/** Mean time between two changes of a machine's rules, in milliseconds. */
const CHANGED_EVERY_MS = 40 * 60_000;
/** A change of the file counts after this time, in milliseconds (docs/rules.md: within seconds). */
const COUNTS_AFTER_MS = 5_000;

/** Returns the text of a rules file. */
export function rulesText(rules: readonly string[]): string {
  return rules.length === 0 ? 'rules: []\n' : `rules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`;
}

/** The owner of a hub, who forbids agents its light for a time, by the rules file. */
export async function changeRules(
  world: World,
  machine: SimulatedMachine,
  { draw, always }: { readonly draw: Draw; readonly always: readonly string[] },
): Promise<void> {
  const light = deviceTool(REPEATABLE, machine.name);
  for (;;) {
    await world.pause(draw.pause(world.paced(CHANGED_EVERY_MS)));
    if (world.isEnding) return;
    if (!write(world, machine, rulesText([...always, `{ name: no light, effect: deny, when: { kind: agent, tool: '${light}' } }`])))
      continue;
    const ban = world.ledger.forbid(light, world.queue.nowMs + COUNTS_AFTER_MS);
    await world.pause(draw.pause(world.paced(CHANGED_EVERY_MS / 4)));
    while (!machine.isRunning) await world.pause(COUNTS_AFTER_MS);
    ban.untilMs = world.queue.nowMs;
    write(world, machine, rulesText(always));
  }
}

/** Returns whether the machine runs, so that its file could be written. */
function write(world: World, machine: SimulatedMachine, text: string): boolean {
  if (!machine.isRunning) return false;
  machine.edit('rules.yaml', text);
  world.note(`owner of ${machine.name}`, `writes ${text.trim()}`);
  return true;
}
