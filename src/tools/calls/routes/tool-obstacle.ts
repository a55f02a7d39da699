import type { RegisteredTool } from '../../definition/tool-definition.ts';
import type { StageContext } from '../stages/stage-context.ts';
import { candidatesFor, isPassing } from './call-route.ts';
import { rankRoute } from './route-score.ts';

type ObstacleContext = Pick<StageContext, 'tools' | 'mesh' | 'nodeId' | 'capabilities' | 'facts'>;

/** Composed tools call composed tools so deep at most. */
const MAX_DEPTH = 4;

/**
 * Why no call of a tool would run now, whoever made it, by what calls themselves go by: the hubs that could, its device, and the tools
 * that it calls. Undefined where one would.
 */
export function obstacleTo(tool: RegisteredTool, context: ObstacleContext, depth = 0): string | undefined {
  return hubObstacle(tool, context) ?? (depth < MAX_DEPTH ? stepObstacle(tool, context, depth) : undefined) ?? deviceObstacle(tool);
}

/** Why no call of a tool will ever run as the hubs are now: what each of them is rules it out. Undefined for what may be over in a moment. */
export function lastingObstacleTo(tool: RegisteredTool, context: ObstacleContext): string | undefined {
  const { ranked, refused } = rankRoute(tool.definition, {}, candidatesFor(tool, context));
  const isLasting = ranked.length === 0 && refused.length > 0 && !refused.some(isPassing);
  return isLasting ? hubObstacle(tool, context) : undefined;
}

function hubObstacle(tool: RegisteredTool, context: ObstacleContext): string | undefined {
  const candidates = candidatesFor(tool, context);
  const { ranked, refused } = rankRoute(tool.definition, {}, candidates);
  if (ranked.length > 0) return undefined;
  const missingSetting = tool.missingSetting?.();
  if (missingSetting !== undefined) return `it is not configured: ${missingSetting}`;
  const nameOf = (id: string) => (id === context.nodeId ? 'this hub' : (candidates.find((candidate) => candidate.id === id)?.name ?? id));
  const reasons = refused.map(({ node_id: id, reason }) => `${nameOf(id)} ${reason}`);
  return `no hub can run it: ${reasons.join('; ') || 'none has it any more'}`;
}

function deviceObstacle(tool: RegisteredTool): string | undefined {
  // What is not configured here and runs elsewhere is judged by the hub that has it.
  if (tool.missingSetting?.() !== undefined || tool.isAvailable?.() !== false) return undefined;
  if (tool.definition.metadata.device !== undefined) return `its device (${tool.definition.metadata.device}) does not answer`;
  return 'what it works on cannot be reached';
}

function stepObstacle(tool: RegisteredTool, context: ObstacleContext, depth: number): string | undefined {
  for (const { tool: name } of tool.innerCalls?.(undefined) ?? []) {
    const step = found(name, context);
    const obstacle = step ? obstacleTo(step, context, depth + 1) : 'there is no such tool now';
    if (obstacle !== undefined) return `it calls ${name}: ${obstacle}`;
  }
  return undefined;
}

function found(name: string, { tools }: ObstacleContext): RegisteredTool | undefined {
  try {
    return tools.resolve(name);
  } catch {
    return undefined;
  }
}
