import { normalizeDefinition } from '../../src/tools/definition/public-definition.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { toolId } from '../../src/tools/definition/tool-names.ts';

const ROOMS = ['kitchen', 'hall', 'attic', 'bedroom', 'garage', 'office', 'cellar', 'garden'];
const ACTIONS = ['turn_on', 'turn_off', 'brightness', 'set_color', 'read_temperature'];

/**
 * A tool of `simulatedTool` for any light. Its name begins with `owner`, so that no other hub has it, unless `owner` is `any`. It has no side
 * effects: the name alone selects no tool of another site that has.
 */
export function siteTool(index: number, owner: string): RegisteredTool {
  return simulatedTool(index, 'any', { prefix: owner === 'any' ? '' : `${owner}_`, hasSideEffects: false });
}

/** A tool of a made-up light, as the profiles make them; the same words wherever `device` is the same. */
export function simulatedTool(index: number, device: string, { prefix = '', hasSideEffects = true } = {}): RegisteredTool {
  const room = ROOMS[index % ROOMS.length] ?? 'hall';
  const action = ACTIONS[Math.floor(index / ROOMS.length) % ACTIONS.length] ?? 'turn_on';
  const definition = normalizeDefinition({
    name: `${prefix}${room}_light_${Math.floor(index / 40)}_${action}`,
    namespace: 'matter',
    description: `Does ${action.replaceAll('_', ' ')} on the light of the ${room}. It waits until the light has confirmed it.`,
    parameters: {
      type: 'object',
      properties: {
        level_percent: { type: 'number', minimum: 0, maximum: 100, description: 'Brightness, 0 to 100 percent' },
        transition_s: { type: 'number', minimum: 0, maximum: 60, description: 'Seconds that the change takes; at once when absent' },
      },
      required: ['level_percent'],
    },
    requires: { capabilities: ['light_control'], permissions: [`device:control:${device}`] },
    execution: { side_effects: hasSideEffects, idempotent: true },
    metadata: { title: `${room} light ${action}`, category: 'acting', tags: ['light', room], ...(device !== 'any' && { device }) },
  });
  const id = toolId(definition);
  return { id, definition, handler: async () => ({ ok: true }) };
}
