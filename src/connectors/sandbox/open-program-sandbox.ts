import type { ProgramSandbox } from '../../tools/programs/program-sandbox.ts';
import { BubblewrapSandbox } from './bubblewrap-sandbox.ts';
import { ContainerEngine } from './container-engine.ts';
import { GrantedPowers } from './granted-powers.ts';
import { DEFAULT_SAFETY_RULES, SafetyRules } from './safety-rules.ts';
import type { SandboxConfig } from './sandbox-config.ts';

/** The sandbox of the configuration; nothing runs before the first program does. CONFIG_INVALID for a power that cannot be. */
export function openProgramSandbox(
  config: SandboxConfig,
  { stateDir, env }: { readonly stateDir: string; readonly env: NodeJS.ProcessEnv },
): ProgramSandbox {
  const rules = new SafetyRules([...(config.defaultSafetyRules ? DEFAULT_SAFETY_RULES : []), ...config.safetyRules]);
  const powers = new GrantedPowers(config.powers, { stateDir, env });
  const engine = openEngine(config, env);
  return new BubblewrapSandbox({ powers, rules, env, ...(engine && { engine }) }, config);
}

/** Undefined where the owner has configured none. */
export function openEngine({ containerEngine }: SandboxConfig, env: NodeJS.ProcessEnv): ContainerEngine | undefined {
  return containerEngine === undefined ? undefined : new ContainerEngine(containerEngine, { env });
}
